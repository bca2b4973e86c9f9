// What Winograd's convolution multiplies at a time, and the memory that takes.
#include <algorithm>

#include "ops/conv2d/cpu/winograd.h"
#include "ops/cpu/packed_memory.h"

namespace headroom::winograd {

template <class T>
Winograd<T>::Winograd(const Conv2d& convolution, bool transpose, int max_threads)
    : c(convolution),
      transposed(transpose),
      threads(max_threads),
      channels(c.group_channels()),
      maps(c.group_maps()) {
  tiles = {pieces(c.window.output.h, 2), pieces(c.window.output.w, 2)};
  const std::int64_t columns = gemm_tile::used_tile<T>().columns, rows = gemm_tile::used_tile<T>().rows,
                     bytes = channels * kPlaces * columns * std::int64_t{sizeof(T)},
                     blocks = pieces(std::max<std::int64_t>(c.batch, 1) * of_image(), columns),
                     filters = pieces(maps, rows);
  // Tiles that leave the second-level cache are read again for every panel of maps.
  const bool few_tiles = 8 * blocks * columns <= maps;
  tiles_first = blocks * columns < maps && (blocks * bytes <= packed::group_bytes() || few_tiles);
  // As many tiles as stay in the second-level cache; where there are enough, some for each thread.
  const std::int64_t most = std::clamp<std::int64_t>(packed::group_bytes() / bytes, 1, 4),
                     least = tiles_first ? 1 : std::min<std::int64_t>(blocks, threads);
  panel = pieces(blocks, std::max(pieces(blocks, most), least)) * columns;
  while (panel % simd::kLanes<T> != 0) panel += columns;
  // The same number of maps for each thread, unless that makes narrow tiles.
  map_panel = pieces(maps, filters);
  if (tiles_first) map_panel = std::max(pieces(maps, up(filters, threads)), (rows + 1) / 2);
}

template <class T>
std::int64_t Winograd<T>::panels() const {
  return pieces(c.batch * of_image(), panel);
}

template <class T>
std::int64_t Winograd<T>::map_panels() const {
  return pieces(maps, map_panel);
}

template <class T>
std::int64_t Winograd<T>::maps_of(std::int64_t index) const {
  return std::min(map_panel, maps - index * map_panel);
}

// The last register of a panel may write behind it.
template <class T>
std::int64_t Winograd<T>::place_step() const {
  return panel + (kMasks ? 0 : simd::kLanes<T>);
}

// Rows of all places.
template <class T>
std::int64_t Winograd<T>::row_step() const {
  return kPlaces * place_step() + kLine<T>;
}

template <class T>
std::int64_t Winograd<T>::place_of_weights() const {
  return channels * map_panel + kLine<T>;
}

template <class T>
std::int64_t Winograd<T>::weights_of_panel() const {
  return kPlaces * place_of_weights();
}

// Of the factor that is transformed as a whole.
template <class T>
std::int64_t Winograd<T>::shared_elements() const {
  return c.groups * up(tiles_first ? panels() * channels * row_step() : map_panels() * weights_of_panel(),
                       simd::kLanes<T>);
}

// Of a thread: a panel of the other factor, and products; before them, the filters of some maps.
template <class T>
std::int64_t Winograd<T>::panel_elements() const {
  return up(tiles_first ? weights_of_panel() : channels * row_step(), simd::kLanes<T>);
}
template <class T>
std::int64_t Winograd<T>::product_elements() const {
  constexpr std::int64_t kL = simd::kLanes<T>;
  return up(std::max(map_panel * row_step(), kTaps * map_panel * channels + kL), kL);
}

// The lines of a channel that tiles of a panel read; later two rows of outputs. Registers read behind them.
template <class T>
std::int64_t Winograd<T>::line_elements() const {
  const std::int64_t rows = pieces(panel, tiles.w) + 1, images = pieces(panel, of_image()) + 1;
  return up(std::max(4 * (rows + images) * phase(), 4 * panel), simd::kLanes<T>) + 2 * simd::kLanes<T>;
}

template <class T>
std::int64_t Winograd<T>::elements() const {
  return shared_elements() + threads * of_thread();
}

#define HEADROOM_WINOGRAD_SHAPE(T)                                \
  template Winograd<T>::Winograd(const Conv2d&, bool, int);       \
  template std::int64_t Winograd<T>::panels() const;              \
  template std::int64_t Winograd<T>::map_panels() const;          \
  template std::int64_t Winograd<T>::maps_of(std::int64_t) const; \
  template std::int64_t Winograd<T>::place_step() const;          \
  template std::int64_t Winograd<T>::row_step() const;            \
  template std::int64_t Winograd<T>::place_of_weights() const;    \
  template std::int64_t Winograd<T>::weights_of_panel() const;    \
  template std::int64_t Winograd<T>::shared_elements() const;     \
  template std::int64_t Winograd<T>::panel_elements() const;      \
  template std::int64_t Winograd<T>::product_elements() const;    \
  template std::int64_t Winograd<T>::line_elements() const;       \
  template std::int64_t Winograd<T>::elements() const;
HEADROOM_WINOGRAD_SHAPE(float)
HEADROOM_WINOGRAD_SHAPE(double)
#undef HEADROOM_WINOGRAD_SHAPE

}  // namespace headroom::winograd
