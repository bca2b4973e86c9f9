#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom::cuda {

// How a matrix of places x channels is shared out: tiles of packs of 16 bytes across, parts of the rows down.
// From the shape alone, as the bits are. Built everywhere: a plan asks for the workspace without a toolkit.
struct RowsSplit {
  static constexpr int kBlock = 512, kDeep = 4;  // threads; rows of a thread in flight
  static constexpr int kMaxTile = 16;            // packs: 256 bytes of a row, and few sums to join at the end
  static constexpr int kBlocks = 132;  // one for each multiprocessor of a large GPU: they are full then
  static constexpr int kMaxTiles = 1024;

  std::int64_t rows = 1;
  int channels = 1, packs = 1;
  int tile = 1, tiles = 1, lines = 1;  // lines: rows that a block reads side by side
  std::int64_t chunks = 1;             // of lines * kDeep rows
  int parts = 1;

  RowsSplit() = default;
  RowsSplit(std::int64_t rows_, std::int64_t channels_, int pack)
      : rows(rows_), channels(static_cast<int>(channels_)), packs(static_cast<int>(channels_ / pack)) {
    tiles = std::max(1, (packs + kMaxTile - 1) / kMaxTile);
    tile = std::max(1, (packs + tiles - 1) / tiles);
    lines = kBlock / tile;
    const std::int64_t chunk = std::int64_t{lines} * kDeep;
    chunks = (rows + chunk - 1) / chunk;
    parts = static_cast<int>(std::min<std::int64_t>(chunks, std::max(1, kBlocks / tiles)));
  }
};

}  // namespace headroom::cuda
