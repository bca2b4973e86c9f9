#pragma once

// What the GPU kernels take, as the plan and the kernels both must know it.

#include <cstddef>

namespace headroom::attention {

inline constexpr int kMaxRowWidth = 1024;   // cuda:rows keeps whole rows in shared memory
inline constexpr int kMaxTileWidth = 256;   // cuda:tiles keeps them in registers
inline constexpr int kMaxTileDouble = 128;  // the same in fp64
inline constexpr int kMaxMmaWidth = 128;

// cuda:mma: a block of four warps owns 64 rows and walks over the others in tiles, two of them in flight.
// Rows are padded so that fragment loads meet no bank twice.
struct MmaSizes {
  static constexpr int kOwn = 64;
  int depth, loop;  // columns of a row in shared memory, without padding; rows of a tile that is walked over
  int bytes;        // of shared memory
};
constexpr int mma_depth(int width) { return width <= 32 ? 32 : width <= 64 ? 64 : 128; }
constexpr int mma_pitch(int depth, int element) { return depth + 16 / element; }
constexpr MmaSizes mma_sizes(int width, int element, bool backward) {
  const int depth = mma_depth(width), loop = backward || element == 4 ? 32 : 64;
  const int rows = (backward ? 2 : 1) * MmaSizes::kOwn + 2 * 2 * loop;
  const int statistics = backward ? 2 * 2 * loop * 4 : 0;
  return {depth, loop, rows * mma_pitch(depth, element) * element + statistics};
}

}  // namespace headroom::attention
