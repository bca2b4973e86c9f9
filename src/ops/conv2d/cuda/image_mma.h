#pragma once

// How cuda:image_mma cuts images: plain data that its C++ half makes and its CUDA half reads.

#include "ops/conv2d/cuda/sweep.h"

namespace headroom::cuda {

// Threads of all blocks on a multiprocessor, by the registers they need: 72, 128 or 168 each.
constexpr int image_threads(bool split, int maps8, int rows16) {
  if (rows16 == 1 && maps8 == 1) return 896;
  return (maps8 > 3 ? rows16 == 1 && !split : rows16 == 1 || split) ? 512 : 384;
}
constexpr int image_block(int threads) { return threads > 512 ? threads / 2 : threads; }
inline constexpr int kImageGroup = 4;  // steps of 8 along the sum, taken together

// Fragments of 16 pixels in a warp, where there are pixels enough.
constexpr int image_rows16(bool split, int maps8) { return split ? 2 : maps8 > 3 ? 3 : 4; }

inline constexpr int kWeightThreads = 640;  // of a block for the gradient of the weights, at most

// How the kernels that hold whole images in shared memory cut the work. A tile is several images, or a band
// of output rows of one; `view` is the input as its windows see it, with padding and with the zeros between
// the elements of a strided gradient.
struct ImagePlan {
  int images, rows, bands, tiles;
  int view_h, view_w, top, left;  // top: of the first band
  int view_words;                 // of one image, all channels of a group
  int steps;                      // of 8 along the sum
  int maps8, map_blocks;          // fragments of 8 maps in a block; blocks to cover a group's
  int rows16;                     // fragments of 16 pixels in a warp
  int threads, workers, bytes;
  bool flat;  // the view is the image as it lies in memory
  Divide by_pixels, by_width, by_taps;
  // The gradient of the weights: (channel, tap) rows in groups of 32, cut over blocks and warps; the warps
  // beyond those share the pixels of a tile.
  int row_groups, row_blocks, slices, pixel_pitch;
};

}  // namespace headroom::cuda
