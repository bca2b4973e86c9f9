#include <algorithm>
#include <array>

#include "ops/conv2d/cpu/batch_lanes.h"
#include "ops/cpu/parallel.h"

namespace headroom::lanes {
namespace conv2d_cpu_batch_lanes_loops_cc {
namespace {

template <class T>
constexpr std::int64_t kL = simd::kLanes<T>;

// One tile of kMaps maps x kPixels pixels of output row oh, over all channels and taps.
template <class T, int kMaps, int kPixels>
void tile(const Conv2d& c, const Plane& plane, const T* x, const T* weights, const T* bias, std::int64_t oh,
          std::int64_t ow, std::int64_t maps, T* y) {
  const Window2d& w = c.window;
  const int padded = padded_tile<T>(kMaps);
  simd::Vec<T> sum[kMaps][kPixels];
  for (int m = 0; m < kMaps; ++m)
    for (int p = 0; p < kPixels; ++p)
      sum[m][p] = simd::broadcast<T>(m < maps && bias != nullptr ? bias[m] : T{0});

  for (std::int64_t channel = 0; channel < c.group_channels(); ++channel)
    for (std::int64_t kh = 0; kh < w.kernel.h; ++kh) {
      const std::int64_t ih = oh * w.stride.h - w.pad.h + kh * w.dilation.h;
      if (ih < 0 || ih >= w.input.h) continue;
      const T* row = x + ((channel * plane.rows + ih) * plane.stride + ow * w.stride.w) * kL<T>;
      const T* taps = weights + (channel * w.kernel.h + kh) * w.kernel.w * padded;
      for (std::int64_t kw = 0; kw < w.kernel.w; ++kw) {
        const Weights<T, kMaps> weight(taps + kw * padded);
        simd::Vec<T> pixel[kPixels];
        for (int p = 0; p < kPixels; ++p)
          pixel[p] = simd::load(row + (kw * w.dilation.w + p * w.stride.w) * kL<T>);
        for (int m = 0; m < kMaps; ++m)
          for (int p = 0; p < kPixels; ++p) sum[m][p] += weight[m] * pixel[p];
      }
    }

  for (int m = 0; m < maps; ++m)
    for (int p = 0; p < kPixels; ++p)
      simd::store(y + (m * c.output_plane() + oh * w.output.w + ow + p) * kL<T>, sum[m][p]);
}

// All pixels of one tile of maps; the last pixels of a row take a narrower tile.
template <class T, int kMaps, int kPixels>
void tiles(const Conv2d& c, const Plane& plane, const T* x, const T* weights, const T* bias,
           std::int64_t maps, T* y) {
  using Narrow = void (*)(const Conv2d&, const Plane&, const T*, const T*, const T*, std::int64_t,
                          std::int64_t, std::int64_t, T*);
  static constexpr std::array<Narrow, 6> kNarrow = {nullptr,           tile<T, kMaps, 1>, tile<T, kMaps, 2>,
                                                    tile<T, kMaps, 3>, tile<T, kMaps, 4>, tile<T, kMaps, 5>};
  const std::int64_t width = c.window.output.w;
  for (std::int64_t oh = 0; oh < c.window.output.h; ++oh) {
    std::int64_t ow = 0;
    for (; ow + kPixels <= width; ow += kPixels)
      tile<T, kMaps, kPixels>(c, plane, x, weights, bias, oh, ow, maps, y);
    if (ow < width)
      kNarrow[static_cast<std::size_t>(width - ow)](c, plane, x, weights, bias, oh, ow, maps, y);
  }
}

template <class T>
void map_tile(int kind, const Conv2d& c, const Plane& plane, const T* x, const T* weights, const T* bias,
              std::int64_t maps, T* y) {
  if constexpr (kAccumulators >= 24)
    if (kind == 8) return tiles<T, 8, kAccumulators / 8>(c, plane, x, weights, bias, maps, y);
  if (kind == 6) return tiles<T, 6, kAccumulators / 6>(c, plane, x, weights, bias, maps, y);
  tiles<T, 4, kAccumulators / 4>(c, plane, x, weights, bias, maps, y);
}

// Weights in the order the tiles read them: group, tile of maps, channel, tap, map.
template <class T>
void pack_weights(const Conv2d& c, bool transposed, int kind, const T* w, T* packed) {
  const std::int64_t padded = padded_tile<T>(kind), taps = c.taps();
  for (std::int64_t g = 0; g < c.groups; ++g)
    for (std::int64_t first = 0; first < c.group_maps(); first += kind)
      for (std::int64_t k = 0; k < c.group_channels(); ++k)
        for (std::int64_t t = 0; t < taps; ++t, packed += padded)
          for (std::int64_t m = 0; m < padded; ++m) {
            const bool real = m < kind && first + m < c.group_maps();
            const std::int64_t forward =
                ((g * c.group_maps() + first + m) * c.group_channels() + k) * taps + t;
            const std::int64_t backward =
                ((g * c.group_channels() + k) * c.group_maps() + first + m) * taps + taps - 1 - t;
            packed[m] = real ? w[transposed ? backward : forward] : T{0};
          }
}

std::int64_t tiles_per_group(const Conv2d& c) {
  const int kind = tile_maps(c.group_maps());
  return (c.group_maps() + kind - 1) / kind;
}

}  // namespace
}  // namespace conv2d_cpu_batch_lanes_loops_cc

Plane input_plane_of(const Conv2d& c) {
  const Window2d& w = c.window;
  const std::int64_t reach = (w.output.w - 1) * w.stride.w + (w.kernel.w - 1) * w.dilation.w + 1;
  return {w.input.h, w.input.w, w.pad.w, std::max(w.pad.w + w.input.w, reach)};
}

template <class T>
Scratch Direct<T>::scratch() const {
  using namespace conv2d_cpu_batch_lanes_loops_cc;
  const std::int64_t block = (c.channels * input_plane_of(c).elements() + c.output_image()) * kL<T>;
  const std::int64_t weights =
      c.groups * tiles_per_group(c) * c.depth() * padded_tile<T>(tile_maps(c.group_maps()));
  return {block, weights, block};
}

template <class T>
void Direct<T>::run(const T* x, const T* w, const T* bias, T* y, T* workspace) const {
  using namespace conv2d_cpu_batch_lanes_loops_cc;
  const Plane plane = input_plane_of(c);
  const int kind = tile_maps(c.group_maps());
  const Scratch sizes = scratch();
  T* weights = workspace;
  pack_weights(c, transposed, kind, w, weights);

  const std::int64_t blocks = (c.batch + kL<T> - 1) / kL<T>;
  const std::int64_t tile_weights = c.depth() * padded_tile<T>(kind);
  parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    T* in = workspace + sizes.shared + thread * sizes.per_thread;
    T* out = in + c.channels * plane.elements() * kL<T>;
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b * kL<T>, images = std::min(kL<T>, c.batch - first);
      pack_planes(plane, c.channels, x + first * c.input_image(), c.input_image(), images, in);
      for (std::int64_t t = 0; t < c.groups * tiles_per_group(c); ++t) {
        const std::int64_t group = t / tiles_per_group(c), map = t % tiles_per_group(c) * kind;
        const std::int64_t maps = std::min<std::int64_t>(kind, c.group_maps() - map);
        const std::int64_t at = group * c.group_maps() + map;
        T* planes = out + at * c.output_plane() * kL<T>;
        map_tile(kind, c, plane, in + group * c.group_channels() * plane.elements() * kL<T>,
                 weights + t * tile_weights, bias ? bias + at : nullptr, maps, planes);
        apply_activation(c.activation, maps * c.output_plane() * kL<T>, planes, planes);
      }
      unpack(c.output_image(), out, y + first * c.output_image(), c.output_image(), images);
    }
  });
}

template struct Direct<float>;
template struct Direct<double>;

}  // namespace headroom::lanes
