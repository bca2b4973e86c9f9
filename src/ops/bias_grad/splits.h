#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom {

// How the GPU cuts [rows, channels, plane]: a block adds up `rows_per_split` rows of one channel, or of a
// tile of channels where the plane is one element; the last of the `splits` blocks of a tile adds up their
// sums. Follows from the shape alone, so that the bits do too.
struct BiasSplits {
  static constexpr std::int64_t kMostTiles = 4096;  // more of them fill a GPU without being cut
  static constexpr std::int64_t kBlocks = 1024;     // enough to fill one
  static constexpr std::int64_t kLeast = 256 * 8;   // elements that a block is worth
  std::int64_t width = 1;                           // channels of a tile: a power of two up to 32
  std::int64_t tiles = 1, splits = 1, rows_per_split = 1;
};

inline BiasSplits bias_splits(std::int64_t rows, std::int64_t channels, std::int64_t plane) {
  BiasSplits s;
  if (plane == 1)
    while (s.width < 32 && s.width < channels) s.width *= 2;
  s.tiles = (channels + s.width - 1) / s.width;
  const std::int64_t fill = (BiasSplits::kBlocks + s.tiles - 1) / s.tiles;
  const std::int64_t worth = std::max<std::int64_t>(1, rows * plane * s.width / BiasSplits::kLeast);
  const std::int64_t splits = s.tiles > BiasSplits::kMostTiles ? 1 : std::min({fill, worth, rows});
  s.rows_per_split = (rows + splits - 1) / splits;
  s.splits = (rows + s.rows_per_split - 1) / s.rows_per_split;
  return s;
}

}  // namespace headroom
