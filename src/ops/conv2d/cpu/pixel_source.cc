// How an image is put before the tiles of pixel_lanes.
#include <algorithm>

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

Source unrolled(const Conv2d& c, std::int64_t lanes) {
  Source s;
  s.form = Source::Form::unrolled;
  s.width = c.output_plane();
  s.channel = up(s.width, lanes);
  s.channels = c.depth();
  for (std::int64_t k = 0; k < c.depth(); ++k) s.offset.push_back(k * s.channel);
  return s;
}

}  // namespace

std::int64_t registers_of(std::int64_t rows, std::int64_t width, std::int64_t lanes) {
  return rows * ((width + lanes - 1) / lanes);
}

Source padded_source(const Conv2d& c, std::int64_t lanes) {
  const Window2d& w = c.window;
  Source s;
  s.form = Source::Form::padded;
  s.rows = w.output.h;
  s.width = w.output.w;
  const std::int64_t reach = (w.kernel.w - 1) * w.dilation.w / w.stride.w;
  s.phase = up(w.output.w, lanes) + reach;
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

std::int64_t first_at(std::int64_t bound, std::int64_t offset, std::int64_t stride) {
  const std::int64_t distance = bound - offset;
  return distance <= 0 ? 0 : (distance + stride - 1) / stride;
}

// By the registers each would multiply and copy; a register copied costs about as much as eight products.
Source source_of(const Conv2d& c, std::int64_t lanes) {
  if (c.is_pointwise() && c.window.input == c.window.output) return pointwise(c);
  const Window2d& w = c.window;
  const Source rows = padded_source(c, lanes);
  const double products = double(c.depth()) * double(c.group_maps());
  const double by_rows = double(registers_of(w.output.h, w.output.w, lanes)) * products +
                         8 * double(rows.elements()) / double(lanes);
  const double flat = double(registers_of(1, c.output_plane(), lanes));
  const double by_matrix = flat * products + 8 * flat * double(c.depth());
  return by_matrix < by_rows ? unrolled(c, lanes) : rows;
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
