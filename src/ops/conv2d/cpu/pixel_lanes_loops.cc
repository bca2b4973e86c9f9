#include <algorithm>

#include "ops/conv2d/cpu/pixel_gather.h"
#include "ops/cpu/parallel.h"

namespace headroom::pixels {
namespace conv2d_cpu_pixel_lanes_loops_cc {
namespace {

// Blocks of k: a panel of pixels and a tile's weights stay in the first two caches. Registers of Arm hold a
// quarter of the pixels of AVX-512, and its first cache is no smaller: longer blocks, fewer sums put away.
#if defined(__aarch64__)
constexpr std::int64_t kDepthBlock = 576;
#else
constexpr std::int64_t kDepthBlock = 384;
#endif

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// As even as possible.
std::int64_t depth_block(std::int64_t depth) {
  const std::int64_t blocks = (depth + kDepthBlock - 1) / kDepthBlock;
  return (depth + blocks - 1) / blocks;
}

// The weights of a tile of `maps` rows for each k, from rows that lie `distance` apart, k side by side.
// `step` from one k to the next: backwards for flipped windows.
template <class T, int kMaps>
void transpose_rows(std::int64_t depth, const T* from, std::int64_t distance, std::int64_t maps,
                    const T* scale, T* to, std::int64_t step) {
  std::int64_t k = 0;
  if constexpr (kMaps % 4 == 0 && sizeof(T) == 4) {
    typedef T Four __attribute__((vector_size(16)));
    typedef T FourAnywhere __attribute__((vector_size(16), aligned(4), may_alias));
    typedef std::int32_t Pick __attribute__((vector_size(16)));
    for (; k + 4 <= depth; k += 4)
      for (int first = 0; first < kMaps; first += 4) {
        Four r[4];
        for (int m = 0; m < 4; ++m)
          r[m] = first + m < maps
                     ? *reinterpret_cast<const FourAnywhere*>(from + (first + m) * distance + k) *
                           (scale ? scale[first + m] : T{1})
                     : Four{};
        const Four a = __builtin_shuffle(r[0], r[1], Pick{0, 4, 2, 6}),
                   b = __builtin_shuffle(r[0], r[1], Pick{1, 5, 3, 7}),
                   c = __builtin_shuffle(r[2], r[3], Pick{0, 4, 2, 6}),
                   d = __builtin_shuffle(r[2], r[3], Pick{1, 5, 3, 7});
        T* at = to + k * step + first;
        *reinterpret_cast<FourAnywhere*>(at) = __builtin_shuffle(a, c, Pick{0, 1, 4, 5});
        *reinterpret_cast<FourAnywhere*>(at + step) = __builtin_shuffle(b, d, Pick{0, 1, 4, 5});
        *reinterpret_cast<FourAnywhere*>(at + 2 * step) = __builtin_shuffle(a, c, Pick{2, 3, 6, 7});
        *reinterpret_cast<FourAnywhere*>(at + 3 * step) = __builtin_shuffle(b, d, Pick{2, 3, 6, 7});
      }
  }
  for (; k < depth; ++k)
    for (int m = 0; m < kMaps; ++m)
      to[k * step + m] = m < maps ? from[m * distance + k] * (scale ? scale[m] : T{1}) : T{0};
}

template <class T>
void transpose_rows(int tile, std::int64_t depth, const T* from, std::int64_t distance, std::int64_t maps,
                    const T* scale, T* to, std::int64_t step) {
  if (tile == 12) return transpose_rows<T, 12>(depth, from, distance, maps, scale, to, step);
  if (tile == 8) return transpose_rows<T, 8>(depth, from, distance, maps, scale, to, step);
  if (tile == 4) return transpose_rows<T, 4>(depth, from, distance, maps, scale, to, step);
  if (tile == 2) return transpose_rows<T, 2>(depth, from, distance, maps, scale, to, step);
  transpose_rows<T, 1>(depth, from, distance, maps, scale, to, step);
}

}  // namespace
}  // namespace conv2d_cpu_pixel_lanes_loops_cc

template <class T>
PixelLanes<T>::PixelLanes(const Conv2d& convolution, bool transpose, int max_threads)
    : c(convolution), transposed(transpose), threads(max_threads), source(source_of(c, simd::kLanes<T>)) {}

template <class T>
Scratch PixelLanes<T>::scratch() const {
  using namespace conv2d_cpu_pixel_lanes_loops_cc;
  Scratch s{};
  const TileShape shape = tile_shape(c.group_maps());
  const std::int64_t block = depth_block(c.depth());
  constexpr std::int64_t kL = simd::kLanes<T>;  // registers that start anywhere cross lines of the cache
  s.weights = round_up(round_up(std::min(c.group_maps(), kMapBlock), shape.maps) * block, kL);
  s.panel = (block * shape.registers + 1) * kL;
  s.results = round_up(held_results(), kL);
  s.per_thread = s.weights + s.panel + s.results;
  (each_alone() ? s.per_thread : s.shared) += round_up(source.elements(), kL);
  return s;
}

// Tile by tile of maps, k by k.
template <class T>
void PixelLanes<T>::pack_weights(const T* w, const Finish<T>& finish, const Part& part, T* to) const {
  using namespace conv2d_cpu_pixel_lanes_loops_cc;
  const int tile = tile_shape(c.group_maps()).maps;
  const std::int64_t depth = part.last_k - part.first_k, taps = c.taps();
  for (std::int64_t map = part.first_map; map < part.last_map; map += tile, to += tile * depth) {
    const std::int64_t maps = std::min<std::int64_t>(tile, part.last_map - map);
    const std::int64_t at = part.group * c.group_maps() + map;
    if (!transposed) {
      transpose_rows(tile, depth, w + at * c.depth() + part.first_k, c.depth(), maps,
                     finish.scale ? finish.scale + at : nullptr, to, tile);
      continue;
    }
    for (std::int64_t k = part.first_k; k < part.last_k;) {
      const std::int64_t channel = k / taps, tap = k % taps;
      const std::int64_t n = std::min(taps - tap, part.last_k - k);  // of this channel, last tap first
      const T* from = w + ((part.group * c.group_channels() + channel) * c.group_maps() + map) * taps;
      transpose_rows(tile, n, from + taps - tap - n, taps, maps, static_cast<const T*>(nullptr),
                     to + (k - part.first_k + n - 1) * tile, -tile);
      k += n;
    }
  }
}

// The panel of registers [first, first + registers) of the dense form.
template <class T>
void PixelLanes<T>::gather_across(const T* x, Tile<T>& t, std::int64_t first, int registers, T* panel) const {
  constexpr std::int64_t kL = simd::kLanes<T>;
  const std::int64_t end = (first + registers) * kL;
  if (end > source.width) std::fill(panel, panel + t.depth * registers * kL, T{0});  // lanes of no pixel
  gather_stretches(Stretches<T>(x, first * kL, std::min(end, source.width), c.window.output.w, source.pitch),
                   t, registers, panel);
  t.x[0] = panel;
}

// x is the image's group or its copy, y the group's output.
template <class T>
void PixelLanes<T>::compute(const T* x, const T* w, const Finish<T>& finish, Part part, T* y,
                            T* scratch_memory) const {
  using namespace conv2d_cpu_pixel_lanes_loops_cc;
  constexpr std::int64_t kL = simd::kLanes<T>;
  const Scratch sizes = scratch();
  T *weights = scratch_memory, *panel = weights + sizes.weights;
  const TileShape shape = tile_shape(c.group_maps());
  const std::int64_t block = depth_block(c.depth()), across = (source.width + kL - 1) / kL;
  const std::int64_t last_map = part.last_map, plane = part.plane;
  // Beyond the last pixel of the last channel the image itself has nothing to read.
  const bool tight = source.form == Source::Form::as_it_is, dense = source.form == Source::Form::dense;

  Tile<T> t{};
  t.plane = plane;
  t.low = finish.low, t.high = finish.high;
  for (; part.first_map < last_map; part.first_map += kMapBlock) {
    part.last_map = std::min(last_map, part.first_map + kMapBlock);
    const std::int64_t tiles = (part.last_map - part.first_map + shape.maps - 1) / shape.maps;
    for (part.first_k = 0; part.first_k < c.depth(); part.first_k += block) {
      part.last_k = std::min(c.depth(), part.first_k + block);
      t.depth = part.last_k - part.first_k;
      t.first = part.first_k == 0, t.last = part.last_k == c.depth();
      pack_weights(w, finish, part, weights);
      const std::int64_t* offsets = source.offset.data() + part.first_k;
      for (std::int64_t at = part.first_register; at < part.last_register;) {
        const int registers = next_registers(shape, part.last_register - at);
        bool partial = false;
        for (int p = 0; p < registers; ++p, ++at) {
          const std::int64_t row = at / across, column = at % across * kL;
          t.spot[p] = {row * source.pitch + column, (row - part.first_row) * source.width + column,
                       std::min(kL, source.width - column)};
          t.x[p] = x + t.spot[p].x;
          partial |= t.spot[p].count < kL;
        }
        t.offset = offsets;
        const bool gathered = dense || tiles >= kGatherTiles || (tight && partial);
        if (dense)
          gather_across(x, t, at - registers, registers, panel);
        else if (gathered)
          gather(t, registers, tight && partial, panel);
        const Extent widest = t.first && t.last && finish.residual == nullptr ? Extent::whole : Extent::full;
        const auto tile = gathered ? tile_for<T, true> : tile_for<T, false>;
        for (std::int64_t i = 0; i < tiles; ++i) {
          const std::int64_t map = part.first_map + i * shape.maps;
          const std::int64_t global = part.group * c.group_maps() + map;
          t.maps = std::min<std::int64_t>(shape.maps, part.last_map - map);
          t.weights = weights + i * shape.maps * t.depth;
          t.y = y + map * plane;
          t.residual = finish.residual ? finish.residual + (t.y - y) : nullptr;
          t.start = finish.start + global;
          tile(shape, registers, partial || t.maps < shape.maps ? Extent::some : widest)(t);
        }
      }
    }
  }
}

#define HEADROOM_PIXEL_LOOPS(T)                                 \
  template PixelLanes<T>::PixelLanes(const Conv2d&, bool, int); \
  template Scratch PixelLanes<T>::scratch() const;              \
  template void PixelLanes<T>::compute(const T*, const T*, const Finish<T>&, Part, T*, T*) const;
HEADROOM_PIXEL_LOOPS(float)
HEADROOM_PIXEL_LOOPS(double)
#undef HEADROOM_PIXEL_LOOPS

}  // namespace headroom::pixels
