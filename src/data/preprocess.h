#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// value = (pixel * scale - mean) / deviation, per channel; one number serves every channel. Pixels around an
// image (a larger input, the border of a crop) are 0 and get the value of pixel 0.
struct Preprocess {
  double scale = 1.0 / 255;
  std::vector<double> mean = {0.1307};  // mean and deviation of handwritten digits in [0, 1]
  std::vector<double> deviation = {0.3081};

  static Preprocess raw() { return {1, {0}, {1}}; }
  static Preprocess scaled() { return {1.0 / 255, {0}, {1}}; }
  bool operator==(const Preprocess&) const = default;
};

// The usual normalisation of a data set; mean 0.5 and deviation 0.5 if unknown.
Preprocess usual_preprocess(std::string_view data);

// `pixels`: "raw" (0 to 255), "scaled" (0 to 1) or "normalized" (by the set's numbers). `normalize`:
// "mean,deviation" or "r,g,b/r,g,b" instead of those numbers; it requires "normalized". Empty: not given.
Preprocess parse_preprocess(std::string_view pixels, std::string_view normalize, const Preprocess& usual);

// Rejects numbers that do not match this many channels, and deviations of zero.
void require_sound(const Preprocess& preprocess, std::int64_t channels);

}  // namespace headroom
