#pragma once

// The matrices of a convolution as ReadRows: none of them is there as a whole.

#include <algorithm>
#include <array>

#include "ops/conv2d/conv2d.h"
#include "ops/cpu/bf16_gemm.h"

namespace headroom {

// A piece of positions (image, y, x) that lie in one row of one image.
struct RowPiece {
  std::int64_t image, y, x, count, at;  // at: its place among all that are read
};

class RowPieces {
 public:
  RowPieces(Extent2d plane, std::int64_t position, std::int64_t count) {
    std::int64_t x = position % plane.w, y = position / plane.w % plane.h,
                 image = position / (plane.w * plane.h);
    for (std::int64_t at = 0; at < count; x = 0) {
      const std::int64_t length = std::min(plane.w - x, count - at);
      pieces_[count_++] = {image, y, x, length, at};
      at += length;
      if (++y == plane.h) y = 0, ++image;
    }
  }
  const RowPiece* begin() const { return pieces_.data(); }
  const RowPiece* end() const { return pieces_.data() + count_; }

 private:
  std::array<RowPiece, ReadRows::kMaxRead> pieces_;
  std::size_t count_ = 0;
};

// Rows (channel, tap), positions (image, output pixel): the input under every tap of the window.
class UnrolledInput final : public ReadRows {
 public:
  UnrolledInput(const Conv2d& c, const float* x) : w_(c.window), x_(x), image_(c.input_image()) {
    if (!c.is_pointwise()) return;
    w_.input = w_.output = {1, c.output_plane()};  // whole planes are one row
  }

  void read(std::int64_t row, std::int64_t rows, std::int64_t position, std::int64_t count, float* to,
            std::int64_t step) const override {
    const RowPieces pieces(w_.output, position, count);
    std::int64_t kw = row % w_.kernel.w, kh = row / w_.kernel.w % w_.kernel.h,
                 channel = row / (w_.kernel.w * w_.kernel.h);
    for (; rows > 0; --rows, to += step) {
      for (const RowPiece& p : pieces) copy(p, channel, kh, kw, to + p.at);
      if (++kw < w_.kernel.w) continue;
      kw = 0;
      if (++kh == w_.kernel.h) kh = 0, ++channel;
    }
  }

 private:
  void copy(const RowPiece& p, std::int64_t channel, std::int64_t kh, std::int64_t kw, float* to) const {
    const std::int64_t y = p.y * w_.stride.h - w_.pad.h + kh * w_.dilation.h, stride = w_.stride.w,
                       x = p.x * stride - w_.pad.w + kw * w_.dilation.w;
    if (y < 0 || y >= w_.input.h) return std::fill(to, to + p.count, 0.0F), void();
    // Those inside the image: 0 <= x + i stride < width.
    const std::int64_t begin = x >= 0 ? 0 : std::min(p.count, (-x + stride - 1) / stride),
                       end = std::clamp((w_.input.w - x + stride - 1) / stride, begin, p.count);
    const float* from = x_ + p.image * image_ + (channel * w_.input.h + y) * w_.input.w + x;
    std::fill(to, to + begin, 0.0F);
    if (stride == 1)
      for (std::int64_t i = begin; i < end; ++i) to[i] = from[i];
    else
      for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * stride];
    std::fill(to + end, to + p.count, 0.0F);
  }

  Window2d w_;
  const float* x_;
  std::int64_t image_;
};

// Rows (map, tap), positions (image, input pixel): the output gradient that reaches a pixel through a tap.
class UnrolledGradient final : public ReadRows {
 public:
  UnrolledGradient(const Conv2d& c, const float* dy) : w_(c.window), dy_(dy), image_(c.output_image()) {
    if (!c.is_pointwise()) return;
    w_.input = w_.output = {1, c.output_plane()};
  }

  void read(std::int64_t row, std::int64_t rows, std::int64_t position, std::int64_t count, float* to,
            std::int64_t step) const override {
    const RowPieces pieces(w_.input, position, count);
    for (; rows > 0; --rows, ++row, to += step) {
      const std::int64_t kw = row % w_.kernel.w, kh = row / w_.kernel.w % w_.kernel.h,
                         map = row / (w_.kernel.w * w_.kernel.h);
      for (const RowPiece& p : pieces) copy(p, map, kh, kw, to + p.at);
    }
  }

 private:
  void copy(const RowPiece& p, std::int64_t map, std::int64_t kh, std::int64_t kw, float* to) const {
    const std::int64_t y = p.y + w_.pad.h - kh * w_.dilation.h, stride = w_.stride.w,
                       x = p.x + w_.pad.w - kw * w_.dilation.w;
    std::fill(to, to + p.count, 0.0F);
    if (y < 0 || y % w_.stride.h != 0 || y / w_.stride.h >= w_.output.h) return;
    const float* from = dy_ + p.image * image_ + (map * w_.output.h + y / w_.stride.h) * w_.output.w;
    // Pixel x + i meets output column (x + i) / stride where the stride divides it.
    std::int64_t i = x >= 0 ? (stride - x % stride) % stride : -x;
    const std::int64_t end = std::min(p.count, (w_.output.w - 1) * stride - x + 1);
    if (stride == 1)
      for (; i < end; ++i) to[i] = from[x + i];
    else
      for (; i < end; i += stride) to[i] = from[(x + i) / stride];
  }

  Window2d w_;
  const float* dy_;
  std::int64_t image_;
};

// Rows: maps of the output, positions (image, pixel).
class MapsOfImages final : public ReadRows {
 public:
  MapsOfImages(const float* y, std::int64_t maps, std::int64_t plane) : y_(y), maps_(maps), plane_(plane) {}

  void read(std::int64_t row, std::int64_t rows, std::int64_t position, std::int64_t count, float* to,
            std::int64_t step) const override {
    const RowPieces pieces({1, plane_}, position, count);
    for (std::int64_t r = 0; r < rows; ++r)
      for (const RowPiece& p : pieces)
        std::copy_n(y_ + (p.image * maps_ + row + r) * plane_ + p.x, p.count, to + r * step + p.at);
  }

 private:
  const float* y_;
  std::int64_t maps_, plane_;
};

// Rows: channels, positions (map, tap): the weights seen from the input.
class WeightsOfChannels final : public ReadRows {
 public:
  WeightsOfChannels(const Conv2d& c, const float* w) : w_(w), depth_(c.depth()), taps_(c.taps()) {}

  void read(std::int64_t row, std::int64_t rows, std::int64_t position, std::int64_t count, float* to,
            std::int64_t step) const override {
    const RowPieces pieces({1, taps_}, position, count);
    for (std::int64_t r = 0; r < rows; ++r)
      for (const RowPiece& p : pieces)
        std::copy_n(w_ + p.image * depth_ + (row + r) * taps_ + p.x, p.count, to + r * step + p.at);
  }

 private:
  const float* w_;
  std::int64_t depth_, taps_;
};

}  // namespace headroom
