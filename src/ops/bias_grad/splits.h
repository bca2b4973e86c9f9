#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom {

// How the GPU cuts [rows, channels, plane]: a block adds up `rows_per_split` rows of one channel, or of a
// tile of channels where the plane is one element; the last of the `splits` blocks of a tile adds up their
// sums. Follows from the shape alone, so that the bits do too.
struct BiasSplits {
  static constexpr std::int64_t kMaxTiles = 4096;  // more of them fill a GPU without being cut
  static constexpr std::int64_t kBlocks = 1024;    // enough to fill one
  static constexpr std::int64_t kLeast = 256 * 8;  // elements that a block is worth
  // What one block of 1024 threads reads in the time that it takes to hand sums to another, where tiles are
  // this few: 2 rounds of 8 loads. Planes are read 4 elements and more at a time.
  static constexpr std::int64_t kFew = 264, kAlone = 1024 * 16, kAlonePlanes = 1024 * 32;
  std::int64_t width = 1;  // channels of a tile: a power of two up to 32
  int threads = 256;
  std::int64_t tiles = 1, splits = 1, rows_per_split = 1;
};

inline BiasSplits bias_splits(std::int64_t rows, std::int64_t channels, std::int64_t plane) {
  BiasSplits s;
  if (plane == 1)
    while (s.width < 32 && s.width < channels) s.width *= 2;
  s.tiles = (channels + s.width - 1) / s.width;
  const std::int64_t fill = (BiasSplits::kBlocks + s.tiles - 1) / s.tiles;
  const std::int64_t elements = rows * plane * s.width;
  const std::int64_t worth = (elements + BiasSplits::kLeast - 1) / BiasSplits::kLeast;
  std::int64_t splits = s.tiles > BiasSplits::kMaxTiles ? 1 : std::min({fill, worth, rows});
  if (s.tiles <= BiasSplits::kFew && splits > 1 &&
      elements <= (plane == 1 ? BiasSplits::kAlone : BiasSplits::kAlonePlanes))
    splits = 1, s.threads = 1024;
  s.rows_per_split = (rows + splits - 1) / splits;
  s.splits = (rows + s.rows_per_split - 1) / s.rows_per_split;
  return s;
}

}  // namespace headroom
