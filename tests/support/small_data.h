#pragma once

// Small data sets in the program's file formats, with a wrong byte where a test needs one.

#include <string>

#include "data/glyphs.h"

namespace headroom::testing {

inline std::string big_endian(std::int64_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

inline std::string idx_images(const Split& split) {
  std::string bytes =
      big_endian(0x803) + big_endian(split.count()) + big_endian(split.image[1]) + big_endian(split.image[2]);
  return bytes.append(split.pixels.begin(), split.pixels.end());
}

inline std::string idx_labels(const Split& split) {
  std::string bytes = big_endian(0x801) + big_endian(split.count());
  return bytes.append(split.labels.begin(), split.labels.end());
}

// The four files of a data set, by name.
inline std::map<std::string, std::string> idx_files(const Dataset& set) {
  return {{"train-images-idx3-ubyte", idx_images(set.train)},
          {"train-labels-idx1-ubyte", idx_labels(set.train)},
          {"t10k-images-idx3-ubyte", idx_images(set.test)},
          {"t10k-labels-idx1-ubyte", idx_labels(set.test)}};
}

}  // namespace headroom::testing
