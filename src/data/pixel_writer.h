#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "data/augment.h"
#include "data/preprocess.h"

namespace headroom {

// Converts the bytes of an image to a model's input values: normalised, shifted, flipped, and centred if the
// input is larger. Built once; writing allocates nothing.
class PixelWriter {
 public:
  PixelWriter(const Shape& image, const Shape& input, const Preprocess& preprocess);

  // Fills the whole input as if every pixel were 0. Once per buffer: write() does not touch the border.
  template <class T>
  void clear(T* input) const;

  template <class T>
  void write(const std::uint8_t* image, const Jitter& jitter, T* input) const;

 private:
  template <class T>
  const T* table(std::int64_t plane) const {
    if constexpr (sizeof(T) == sizeof(double))
      return value_.data() + 256 * plane;
    else
      return value_f32_.data() + 256 * plane;
  }

  std::int64_t planes_, rows_, columns_;  // of the image
  std::int64_t plane_pitch_, row_pitch_,
      top_ = 0;                // of the input, in elements; top_: position of the first pixel
  std::vector<double> value_;  // 256 values per channel
  std::vector<float> value_f32_;
};

}  // namespace headroom
