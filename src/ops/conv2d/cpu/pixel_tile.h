#pragma once

// The inner loop of pixel_lanes.

#include "ops/conv2d/cpu/batch_lanes.h"
#include "ops/conv2d/cpu/pixel_lanes.h"
#include "ops/cpu/lanes.h"

namespace headroom::pixels {

// One register of pixels: where its factors and its results lie. At the end of a row fewer lanes count.
struct Spot {
  std::int64_t x, y, count;
};

template <class T>
struct Tile {
  std::int64_t depth;
  const std::int64_t* offset;  // by k
  const T* x[kMaxRegisters];
  const T* weights;  // depth x maps of the tile
  std::int64_t maps;
  T* y;
  const T* residual;
  std::int64_t plane;
  Spot spot[kMaxRegisters];
  const T* start;    // by map of the tile
  bool first, last;  // of the blocks of k
  T low, high;
};

// Adds a block of k to the sums of a tile. Gathered pixels lie side by side, k by k; others where the offsets
// say.
template <class T, int kMaps, int kRegisters, bool kGathered>
[[gnu::always_inline]] inline void multiply(const Tile<T>& t, simd::Vec<T> (&sum)[kMaps][kRegisters]) {
  constexpr int kL = simd::kLanes<T>;
  const T* x[kRegisters];
  for (int p = 0; p < kRegisters; ++p) x[p] = t.x[p];
  const T *weights = t.weights, *panel = t.x[0];
  const std::int64_t* offset = t.offset;
  for (std::int64_t k = t.depth; k > 0; --k, weights += kMaps) {
    simd::Vec<T> pixel[kRegisters];
    if constexpr (kGathered) {
      for (int p = 0; p < kRegisters; ++p) pixel[p] = simd::load(panel + p * kL);
      panel += kRegisters * kL;
    } else {
      const std::int64_t at = *offset++;
      for (int p = 0; p < kRegisters; ++p) pixel[p] = simd::load(x[p] + at);
    }
    if constexpr (kMaps >= kL) {
      const lanes::Weights<T, kMaps> weight(weights);
      for (int m = 0; m < kMaps; ++m)
        for (int p = 0; p < kRegisters; ++p) sum[m][p] += weight[m] * pixel[p];
    } else {
      for (int m = 0; m < kMaps; ++m) {
        const simd::Vec<T> weight = simd::broadcast<T>(weights[m]);
        for (int p = 0; p < kRegisters; ++p) sum[m][p] += weight * pixel[p];
      }
    }
  }
}

// All k at once, all maps and lanes: the sums never leave their registers.
template <class T, int kMaps, int kRegisters, bool kGathered>
void run_whole_tile(const Tile<T>& t) {
  simd::Vec<T> sum[kMaps][kRegisters];
  for (int m = 0; m < kMaps; ++m)
    for (int p = 0; p < kRegisters; ++p) sum[m][p] = simd::broadcast<T>(t.start[m]);
  multiply<T, kMaps, kRegisters, kGathered>(t, sum);
  const simd::Vec<T> low = simd::broadcast<T>(t.low), high = simd::broadcast<T>(t.high);
  for (int m = 0; m < kMaps; ++m)
    for (int p = 0; p < kRegisters; ++p)
      simd::store(t.y + m * t.plane + t.spot[p].y, simd::cut(sum[m][p], low, high));
}

// Any tile: sums that a later block of k goes on with, a residual. `kFull`: all maps and lanes, so that sums
// come and go by whole registers; else fewer at the ends.
template <class T, int kMaps, int kRegisters, bool kGathered, bool kFull>
void run_tile(const Tile<T>& t) {
  simd::Vec<T> sum[kMaps][kRegisters] = {};
  const auto load_sums = [](const T* from, std::int64_t count) {
    return kFull ? simd::load(from) : simd::load_some(from, count);
  };
  const std::int64_t maps = kFull ? kMaps : t.maps;
  for (int m = 0; m < maps; ++m)
    for (int p = 0; p < kRegisters; ++p)
      sum[m][p] = t.first ? simd::broadcast<T>(t.start[m])
                          : load_sums(t.y + m * t.plane + t.spot[p].y, t.spot[p].count);
  multiply<T, kMaps, kRegisters, kGathered>(t, sum);
  const simd::Vec<T> low = simd::broadcast<T>(t.low), high = simd::broadcast<T>(t.high);
  for (int m = 0; m < maps; ++m)
    for (int p = 0; p < kRegisters; ++p) {
      const std::int64_t at = m * t.plane + t.spot[p].y;
      simd::Vec<T> v = sum[m][p];
      if (t.last && t.residual != nullptr) v += load_sums(t.residual + at, t.spot[p].count);
      if (t.last) v = simd::cut(v, low, high);
      if constexpr (kFull)
        simd::store(t.y + at, v);
      else
        simd::store_some(t.y + at, v, t.spot[p].count);
    }
}

// The tiles there are: as many registers as the sums leave room for, or fewer at the end of a range.
template <class T>
using RunTile = void (*)(const Tile<T>&);

// What a tile lacks of a whole one: maps or lanes; other blocks of k or a residual; nothing.
enum class Extent { some, full, whole };

struct TileShape {
  int maps, registers;
};
inline std::int64_t in_tiles(std::int64_t maps, int tile) { return (maps + tile - 1) / tile * tile; }
inline TileShape tile_shape(std::int64_t maps) {
  if constexpr (kWideTileMaps > 0)
    if (maps > kTileMaps && maps <= kMapBlock && in_tiles(maps, kWideTileMaps) < in_tiles(maps, kTileMaps))
      return {kWideTileMaps, 2};
  if (maps > 4) return {kTileMaps, kTileRegisters};
  if (maps > 2) return {4, 3};
  return {maps == 2 ? 2 : 1, maps == 2 ? 4 : 8};
}

// How many registers the next tile takes where `left` are left. Four are two twos rather than three and one.
inline int next_registers(const TileShape& shape, std::int64_t left) {
  if (shape.registers == 3) return left == 4 ? 2 : static_cast<int>(std::min<std::int64_t>(left, 3));
  for (int r : {8, 4, 2})
    if (r <= shape.registers && r <= left) return r;
  return 1;
}

template <class T, int kMaps, int kRegisters, bool kGathered>
RunTile<T> tile_of(Extent extent) {
  if (extent == Extent::whole) return run_whole_tile<T, kMaps, kRegisters, kGathered>;
  if (extent == Extent::full) return run_tile<T, kMaps, kRegisters, kGathered, true>;
  return run_tile<T, kMaps, kRegisters, kGathered, false>;
}

template <class T, int kMaps, bool kGathered>
RunTile<T> tile_of(int registers, Extent extent) {
  switch (registers) {
    case 1:
      return tile_of<T, kMaps, 1, kGathered>(extent);
    case 2:
      return tile_of<T, kMaps, 2, kGathered>(extent);
    case 3:
      if constexpr (kMaps > 2 && kMaps <= kTileMaps) return tile_of<T, kMaps, 3, kGathered>(extent);
      break;
    case 4:
      if constexpr (kMaps <= 2) return tile_of<T, kMaps, 4, kGathered>(extent);
      break;
    case 8:
      if constexpr (kMaps == 1) return tile_of<T, kMaps, 8, kGathered>(extent);
      break;
  }
  return nullptr;
}

template <class T, bool kGathered>
RunTile<T> tile_for(const TileShape& shape, int registers, Extent extent) {
  if (shape.maps == 1) return tile_of<T, 1, kGathered>(registers, extent);
  if (shape.maps == 2) return tile_of<T, 2, kGathered>(registers, extent);
  if (shape.maps == 4) return tile_of<T, 4, kGathered>(registers, extent);
  if constexpr (kWideTileMaps > 0)
    if (shape.maps == kWideTileMaps) return tile_of<T, kWideTileMaps, kGathered>(registers, extent);
  return tile_of<T, 8, kGathered>(registers, extent);
}

}  // namespace headroom::pixels
