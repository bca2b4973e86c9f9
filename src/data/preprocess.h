#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// value = (pixel * scale - mean) / deviation, per channel; one number serves every channel. Whatever
// surrounds an image (a larger input, the rim of a crop) is pixel 0, and so has the value this gives to it.
struct Preprocess {
  double scale = 1.0 / 255;
  std::vector<double> mean = {0.1307};  // mean and deviation of handwritten digits in [0, 1]
  std::vector<double> deviation = {0.3081};

  static Preprocess raw() { return {1, {0}, {1}}; }
  static Preprocess scaled() { return {1.0 / 255, {0}, {1}}; }
  bool operator==(const Preprocess&) const = default;
};

// What a data set's images are usually normalised with; a half and a half where nothing is known.
Preprocess usual_preprocess(std::string_view data);

// "raw" (0 to 255), "scaled" (0 to 1), "normalized" (by the set's numbers), and "mean,deviation" or
// "r,g,b/r,g,b" in their place. Empty texts are what was not said; both at once need "normalized".
Preprocess parse_preprocess(std::string_view pixels, std::string_view normalize, const Preprocess& usual);

// Rejects numbers that cannot serve images of so many channels, and deviations of zero.
void require_sound(const Preprocess& preprocess, std::int64_t channels);

}  // namespace headroom
