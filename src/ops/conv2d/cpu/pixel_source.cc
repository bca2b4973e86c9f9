// How an image is put before the tiles of pixel_lanes.
#include <algorithm>
#include <cmath>

#include "ops/conv2d/cpu/pixel_lanes.h"

namespace headroom::pixels {
namespace {

std::int64_t up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

Source pointwise(const Conv2d& c) {
  Source s;
  s.form = Source::Form::as_it_is;
  s.width = c.output_plane();
  s.channel = c.input_plane();
  s.channels = c.group_channels();
  for (std::int64_t k = 0; k < c.depth(); ++k) s.offset.push_back(k * s.channel);
  return s;
}

// A copy with its padding whose rows hold `columns` outputs for each tap.
Source padded_copy(const Conv2d& c, std::int64_t columns) {
  const Window2d& w = c.window;
  Source s;
  const std::int64_t reach = (w.kernel.w - 1) * w.dilation.w / w.stride.w;
  s.phase = columns + reach;
  s.line = s.phase * w.stride.w;
  s.pitch = s.line * w.stride.h;
  s.channel = s.line * ((w.output.h - 1) * w.stride.h + (w.kernel.h - 1) * w.dilation.h + 1);
  s.channels = c.group_channels();
  for (std::int64_t k = 0; k < c.group_channels(); ++k)
    for (std::int64_t kh = 0; kh < w.kernel.h; ++kh)
      for (std::int64_t kw = 0; kw < w.kernel.w; ++kw) {
        const std::int64_t column = kw * w.dilation.w;
        s.offset.push_back(k * s.channel + kh * w.dilation.h * s.line + column % w.stride.w * s.phase +
                           column / w.stride.w);
      }
  return s;
}

Source dense(const Conv2d& c, std::int64_t lanes) {
  Source s = padded_copy(c, c.window.output.w);
  s.form = Source::Form::dense;
  s.width = c.output_plane();
  s.slack = lanes;
  return s;
}

}  // namespace

std::int64_t registers_of(std::int64_t rows, std::int64_t width, std::int64_t lanes) {
  return rows * ((width + lanes - 1) / lanes);
}

Source padded_source(const Conv2d& c, std::int64_t lanes) {
  Source s = padded_copy(c, up(c.window.output.w, lanes));
  s.form = Source::Form::padded;
  s.rows = c.window.output.h;
  s.width = c.window.output.w;
  return s;
}

std::int64_t first_at(std::int64_t bound, std::int64_t offset, std::int64_t stride) {
  const std::int64_t distance = bound - offset;
  return distance <= 0 ? 0 : (distance + stride - 1) / stride;
}

// By the registers each would multiply and copy. A register of the image's copy costs about as much as eight
// products, one of a gathered panel as five; rows that end within it are copied on their own.
Source source_of(const Conv2d& c, std::int64_t lanes) {
  if (c.is_pointwise() && c.window.input == c.window.output) return pointwise(c);
  constexpr double kCopied = 8, kGathered = 5;
  const Source by_rows = padded_source(c, lanes), across_rows = dense(c, lanes);
  const double maps = double(c.group_maps()), blocks = std::ceil(maps / kMapBlock);
  auto cost = [&](const Source& s, double gathers) {
    return double(registers_of(s.rows, s.width, lanes)) * double(c.depth()) *
               (maps + kGathered * blocks * gathers) +
           kCopied * double(s.elements()) / double(lanes);
  };
  const double gathers = maps >= double(kGatherTiles * kTileMaps) ? 1 : 0,
               ends = double(lanes) / double(c.window.output.w);
  return cost(across_rows, 1 + ends) < cost(by_rows, gathers) ? across_rows : by_rows;
}

Conv2d input_gradient_as_conv(const Conv2d& c) {
  Conv2d t = c;
  std::swap(t.channels, t.maps);
  const Window2d& w = c.window;
  t.window = {.input = w.output,
              .output = w.input,
              .kernel = w.kernel,
              .stride = {1, 1},
              .dilation = w.dilation,
              .pad = {(w.kernel.h - 1) * w.dilation.h - w.pad.h, (w.kernel.w - 1) * w.dilation.w - w.pad.w},
              .pad_end = {0, 0}};
  t.bias = false;
  t.activation = Activation::none;
  return t;
}

}  // namespace headroom::pixels
