// How an image is put before the tiles of pixel_lanes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/conv2d/cpu/pixel_lanes.h"
#include "ops/pool/cpu/pairs.h"

namespace headroom::pixels {
namespace conv2d_cpu_pixel_source_cc {
namespace {

std::int64_t up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// A copy with its padding whose rows hold `columns` outputs for each tap; without offsets.
Source copy_of(const Conv2d& c, std::int64_t columns) {
  const Window2d& w = c.window;
  Source s;
  const std::int64_t reach = (w.kernel.w - 1) * w.dilation.w / w.stride.w;
  s.phase = columns + reach;
  s.line = s.phase * w.stride.w;
  s.pitch = s.line * w.stride.h;
  s.channel = s.line * ((w.output.h - 1) * w.stride.h + (w.kernel.h - 1) * w.dilation.h + 1);
  s.channels = c.group_channels();
  return s;
}

Source dense_copy(const Conv2d& c, std::int64_t lanes) {
  Source s = copy_of(c, c.window.output.w);
  s.form = Source::Form::dense;
  s.width = c.output_plane();
  s.slack = lanes;
  return s;
}

Source padded_copy(const Conv2d& c, std::int64_t lanes) {
  Source s = copy_of(c, up(c.window.output.w, lanes));
  s.form = Source::Form::padded;
  s.rows = c.window.output.h;
  s.width = c.window.output.w;
  return s;
}

// Where the copy has the first value of each tap.
Source with_offsets(Source s, const Conv2d& c) {
  const Window2d& w = c.window;
  std::vector<std::int64_t> along;  // a row of taps
  for (std::int64_t kw = 0; kw < w.kernel.w; ++kw) {
    const std::int64_t column = kw * w.dilation.w;
    along.push_back(column % w.stride.w * s.phase + column / w.stride.w);
  }
  s.offset.reserve(static_cast<std::size_t>(c.depth()));
  for (std::int64_t k = 0; k < c.group_channels(); ++k)
    for (std::int64_t kh = 0; kh < w.kernel.h; ++kh)
      for (const std::int64_t tap : along)
        s.offset.push_back(k * s.channel + kh * w.dilation.h * s.line + tap);
  return s;
}

// Does a tap read lines, or columns, that leave `rest` when divided by the stride?
bool is_read(std::int64_t rest, std::int64_t kernel, std::int64_t dilation, std::int64_t stride) {
  for (std::int64_t tap = 0; tap < std::min(kernel, stride); ++tap)
    if (tap * dilation % stride == rest) return true;
  return false;
}

// n numbers `stride` apart, at from + i * stride for i in [begin, end); zeros elsewhere in [0, n).
template <class T>
void copy_line(std::int64_t n, const T* from, std::int64_t stride, std::int64_t begin, std::int64_t end,
               T* to) {
  begin = std::clamp<std::int64_t>(begin, 0, n);
  end = std::clamp(end, begin, n);
  std::fill(to, to + begin, T{0});
  if (stride == 1)
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  else if (stride == 2)
    pairs::with_lanes<T>(end - begin, [&]<int N>() {
      pairs::first_of_pairs<T, N>(end - begin, from + 2 * begin, to + begin);
    });
  else
    for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * stride];
  std::fill(to + end, to + n, T{0});
}

}  // namespace
}  // namespace conv2d_cpu_pixel_source_cc

std::int64_t registers_of(std::int64_t rows, std::int64_t width, std::int64_t lanes) {
  return rows * ((width + lanes - 1) / lanes);
}

Source pointwise_source(const Conv2d& c) {
  Source s;
  s.form = Source::Form::as_it_is;
  s.width = c.output_plane();
  s.channel = c.input_plane();
  s.channels = c.group_channels();
  s.offset.reserve(static_cast<std::size_t>(c.depth()));
  for (std::int64_t k = 0; k < c.depth(); ++k) s.offset.push_back(k * s.channel);
  return s;
}

Source dense_source(const Conv2d& c, std::int64_t lanes) {
  using namespace conv2d_cpu_pixel_source_cc;
  return with_offsets(dense_copy(c, lanes), c);
}

Source padded_source(const Conv2d& c, std::int64_t lanes) {
  using namespace conv2d_cpu_pixel_source_cc;
  return with_offsets(padded_copy(c, lanes), c);
}

std::int64_t first_at(std::int64_t bound, std::int64_t offset, std::int64_t stride) {
  const std::int64_t distance = bound - offset;
  return distance <= 0 ? 0 : (distance + stride - 1) / stride;
}

// By the registers each would multiply and copy. A register of the image's copy costs about as much as eight
// products, one of a gathered panel as five; rows that end within it are copied on their own.
Source source_of(const Conv2d& c, std::int64_t lanes) {
  using namespace conv2d_cpu_pixel_source_cc;
  if (c.is_pointwise() && c.window.input == c.window.output) return pointwise_source(c);
  constexpr double kCopied = 8, kGathered = 5;
  Source by_rows = padded_copy(c, lanes), across_rows = dense_copy(c, lanes);
  const double maps = double(c.group_maps()), blocks = std::ceil(maps / kMapBlock);
  auto cost = [&](const Source& s, double gathers) {
    return double(registers_of(s.rows, s.width, lanes)) * double(c.depth()) *
               (maps + kGathered * blocks * gathers) +
           kCopied * double(s.elements()) / double(lanes);
  };
  const double gathers = maps >= double(kGatherTiles * kTileMaps) ? 1 : 0,
               ends = double(lanes) / double(c.window.output.w);
  return with_offsets(
      cost(across_rows, 1 + ends) < cost(by_rows, gathers) ? std::move(across_rows) : std::move(by_rows), c);
}

template <class T>
void copy_channels(const Conv2d& c, const Source& source, const T* x, std::int64_t begin, std::int64_t end,
                   T* to) {
  using namespace conv2d_cpu_pixel_source_cc;
  const Window2d& w = c.window;
  const std::int64_t lines = source.channel / source.line;
  // Columns of one phase, in lines that are the stride apart from `top` on.
  const auto copy_phase = [&](std::int64_t k, std::int64_t top, std::int64_t f) {
    const std::int64_t first = first_at(0, f - w.pad.w, w.stride.w),
                       last = first_at(w.input.w, f - w.pad.w, w.stride.w);
    for (std::int64_t line = top; line < lines; line += w.stride.h) {
      const std::int64_t ih = line - w.pad.h;
      T* const at = to + k * source.channel + line * source.line + f * source.phase;
      if (ih < 0 || ih >= w.input.h)
        std::fill(at, at + source.phase, T{0});
      else
        copy_line(source.phase, x + (k * w.input.h + ih) * w.input.w + f - w.pad.w, w.stride.w, first, last,
                  at);
    }
  };
  for (std::int64_t k = begin; k < end; ++k)
    for (std::int64_t top = 0; top < std::min(w.stride.h, lines); ++top)
      for (std::int64_t f = 0; f < w.stride.w; ++f)
        if (is_read(top, w.kernel.h, w.dilation.h, w.stride.h) &&
            is_read(f, w.kernel.w, w.dilation.w, w.stride.w))
          copy_phase(k, top, f);
  if (end == source.channels) std::fill(to + end * source.channel, to + source.elements(), T{0});
}

template void copy_channels(const Conv2d&, const Source&, const float*, std::int64_t, std::int64_t, float*);
template void copy_channels(const Conv2d&, const Source&, const double*, std::int64_t, std::int64_t, double*);

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
