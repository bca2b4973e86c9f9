#pragma once

// The matrix of a convolution: a row for each channel and tap, a column for each output position.

#include <algorithm>
#include <cstring>

#include "ops/conv2d/conv2d.h"

namespace headroom {

// Output columns whose input column lies inside the image, for one tap.
struct ColumnRange {
  std::int64_t begin, end;
};

inline ColumnRange columns_inside(std::int64_t outputs, std::int64_t inputs, std::int64_t stride,
                                  std::int64_t offset) {
  const std::int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t end = inputs - 1 - offset < 0 ? 0 : (inputs - 1 - offset) / stride + 1;
  return {std::min(begin, outputs), std::clamp(end, std::min(begin, outputs), outputs)};
}

// Walks the rows of the unrolled matrix: visit(row of the matrix, row of the image or -1, valid columns,
// offset).
template <class Visit>
void for_each_unrolled_row(const Conv2d& c, std::int64_t first_channel, std::int64_t last_channel,
                           Visit&& visit) {
  const Window2d& w = c.window;
  std::int64_t row = first_channel * c.taps();
  for (std::int64_t k = first_channel; k < last_channel; ++k)
    for (std::int64_t kh = 0; kh < w.kernel.h; ++kh)
      for (std::int64_t kw = 0; kw < w.kernel.w; ++kw, ++row) {
        const std::int64_t offset = kw * w.dilation.w - w.pad.w;
        const ColumnRange columns = columns_inside(w.output.w, w.input.w, w.stride.w, offset);
        for (std::int64_t oh = 0; oh < w.output.h; ++oh) {
          const std::int64_t ih = oh * w.stride.h - w.pad.h + kh * w.dilation.h;
          const bool outside = ih < 0 || ih >= w.input.h;
          visit(row * c.output_plane() + oh * w.output.w, outside ? -1 : (k * w.input.h + ih) * w.input.w,
                columns, offset);
        }
      }
}

// Some channels of one group of an image.
template <class T>
void unroll(const Conv2d& c, std::int64_t first_channel, std::int64_t last_channel, const T* image, T* matrix,
            T padding) {
  const std::int64_t width = c.window.output.w, stride = c.window.stride.w;
  for_each_unrolled_row(c, first_channel, last_channel,
                        [&](std::int64_t to, std::int64_t from, ColumnRange valid, std::int64_t offset) {
                          T* row = matrix + to;
                          if (from < 0) return std::fill(row, row + width, padding), void();
                          std::fill(row, row + valid.begin, padding);
                          std::fill(row + valid.end, row + width, padding);
                          const T* source = image + from + offset;
                          if (stride == 1)
                            std::memcpy(row + valid.begin, source + valid.begin,
                                        std::size_t(valid.end - valid.begin) * sizeof(T));
                          else
                            for (std::int64_t i = valid.begin; i < valid.end; ++i)
                              row[i] = source[i * stride];
                        });
}

// One group of an image; `padding` fills what lies outside.
template <class T>
void unroll(const Conv2d& c, const T* image, T* matrix, T padding = T{0}) {
  unroll(c, 0, c.group_channels(), image, matrix, padding);
}

}  // namespace headroom
