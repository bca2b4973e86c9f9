#pragma once

// How "cuda:fft" cuts a convolution into transforms: plain data, for its C++ and CUDA halves.

#include "ops/conv2d/cuda/sweep.h"

namespace headroom::cuda {

// An output plane in tiles of rows x columns outputs. What their windows see is a square of side x side
// pixels, a power of two; the transform of it has side x (side / 2 + 1) frequencies, as pixels are real.
struct FftPlan {
  int side = 0;  // 0: no transform is large enough for the window
  int rows = 1, columns = 1;
  int down = 1, across = 1;  // tiles of a plane
  int top = 0, left = 0;     // where the pixels of output 0 begin
  constexpr int tiles() const { return down * across; }
  constexpr int frequencies() const { return side * (side / 2 + 1); }
  // One more element a row keeps both rows and columns off each other's banks; then half a turn of roots.
  constexpr int pitch() const { return side + 1; }
  constexpr int shared_bytes() const { return 8 * (side * pitch() + side / 2); }
  constexpr int threads() const { return side < 16 ? 32 : side == 16 ? 128 : 256; }
};

// A thread of the products holds so many maps of so many tiles at one frequency.
inline constexpr int kFftMaps = 8, kFftTiles = 4, kFftThreads = 128;

}  // namespace headroom::cuda
