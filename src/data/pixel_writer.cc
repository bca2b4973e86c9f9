#include "data/pixel_writer.h"

#include <algorithm>

namespace headroom {

PixelWriter::PixelWriter(const Shape& image, const Shape& input, const Preprocess& preprocess) {
  const bool planar = image.rank() == 3;
  planes_ = planar ? image[0] : 1;
  rows_ = planar ? image[1] : 1;
  columns_ = planar ? image[2] : image.numel();
  plane_pitch_ = rows_ * columns_;
  row_pitch_ = columns_;
  if (input.rank() == 3) {
    const std::int64_t above = (input[1] - rows_) / 2, left = (input[2] - columns_) / 2;
    plane_pitch_ = input[1] * input[2];
    row_pitch_ = input[2];
    top_ = above * row_pitch_ + left;
  }
  require_sound(preprocess, planes_);
  auto of = [](const std::vector<double>& values, std::int64_t plane) {
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(plane)];
  };
  for (std::int64_t plane = 0; plane < planes_; ++plane)
    for (int pixel = 0; pixel < 256; ++pixel)
      value_.push_back((double(pixel) * preprocess.scale - of(preprocess.mean, plane)) /
                       of(preprocess.deviation, plane));
  for (const double value : value_) value_f32_.push_back(static_cast<float>(value));
}

template <class T>
void PixelWriter::clear(T* input) const {
  for (std::int64_t plane = 0; plane < planes_; ++plane)
    std::fill_n(input + plane * plane_pitch_, plane_pitch_, table<T>(plane)[0]);
}

// Row r of the result is row r - down of the image, and the same for columns, before the flip. Pixels outside
// the image are 0.
template <class T>
void PixelWriter::write(const std::uint8_t* image, const Jitter& jitter, T* input) const {
  const std::int64_t first = std::clamp<std::int64_t>(jitter.right, 0, columns_);
  const std::int64_t end = std::clamp<std::int64_t>(columns_ + jitter.right, 0, columns_);
  for (std::int64_t plane = 0; plane < planes_; ++plane) {
    const T* values = table<T>(plane);
    for (std::int64_t row = 0; row < rows_; ++row) {
      T* line = input + top_ + plane * plane_pitch_ + row * row_pitch_;
      const std::int64_t from = row - jitter.down;
      if (from < 0 || from >= rows_) {
        std::fill_n(line, columns_, values[0]);
        continue;
      }
      const std::uint8_t* in = image + (plane * rows_ + from) * columns_;
      if (jitter.flipped) {
        T* last = line + columns_ - 1;
        for (std::int64_t c = 0; c < first; ++c) *(last - c) = values[0];
        for (std::int64_t c = first; c < end; ++c) *(last - c) = values[in[c - jitter.right]];
        for (std::int64_t c = end; c < columns_; ++c) *(last - c) = values[0];
      } else {
        std::fill(line, line + first, values[0]);
        for (std::int64_t c = first; c < end; ++c) line[c] = values[in[c - jitter.right]];
        std::fill(line + end, line + columns_, values[0]);
      }
    }
  }
}

template void PixelWriter::clear(float*) const;
template void PixelWriter::clear(double*) const;
template void PixelWriter::write(const std::uint8_t*, const Jitter&, float*) const;
template void PixelWriter::write(const std::uint8_t*, const Jitter&, double*) const;

}  // namespace headroom
