#pragma once

// Panels of pixel_lanes: the pixels of a tile, copied side by side for each k.

#include "ops/conv2d/cpu/pixel_tile.h"

namespace headroom::pixels {

// The pixels of a tile side by side. `tight`: nothing may be read beyond those that count.
template <class T, int kRegisters>
inline void gather_registers(const Tile<T>& t, T* panel) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  for (std::int64_t k = 0; k < t.depth; ++k, panel += kRegisters * kL)
    for (int p = 0; p < kRegisters; ++p) simd::store(panel + p * kL, simd::load(t.x[p] + t.offset[k]));
}

template <class T>
inline void gather(Tile<T>& t, int registers, bool tight, T* panel) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  if (tight || registers > 3) {
    for (std::int64_t k = 0; k < t.depth; ++k)
      for (int p = 0; p < registers; ++p)
        simd::store(panel + (k * registers + p) * kL,
                    simd::load_some(t.x[p] + t.offset[k], tight ? t.spot[p].count : kL));
  } else if (registers == 3) {
    gather_registers<T, 3>(t, panel);
  } else if (registers == 2) {
    gather_registers<T, 2>(t, panel);
  } else {
    gather_registers<T, 1>(t, panel);
  }
  t.x[0] = panel;
}

// Stretches of output rows that a panel takes in, each copied by whole registers: what a register writes
// behind its stretch is written again by the next one.
template <class T>
struct Stretches {
  std::int64_t count = 0;
  const T* from[kMaxRegisters * simd::kLanes<T>];
  std::int64_t to[kMaxRegisters * simd::kLanes<T>];

  // Outputs [first, last) of rows that are `width` long and read from places `pitch` apart.
  Stretches(const T* x, std::int64_t first, std::int64_t last, std::int64_t width, std::int64_t pitch) {
    for (std::int64_t i = first; i < last;) {
      const std::int64_t row = i / width, end = std::min(last, (row + 1) * width);
      for (; i < end; i += simd::kLanes<T>, ++count) {
        from[count] = x + row * pitch + i - row * width;
        to[count] = i - first;
      }
      i = end;
    }
  }
};

// The pixels of outputs that may lie in several rows. The panel has room for one more register.
template <class T>
inline void gather_stretches(const Stretches<T>& s, const Tile<T>& t, int registers, T* panel) {
  for (std::int64_t k = 0; k < t.depth; ++k, panel += registers * simd::kLanes<T>)
    for (std::int64_t i = 0; i < s.count; ++i)
      simd::store(panel + s.to[i], simd::load(s.from[i] + t.offset[k]));
}

}  // namespace headroom::pixels
