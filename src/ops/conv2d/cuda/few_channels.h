#pragma once

// How cuda:few_channels cuts images: plain data that its C++ half makes and its CUDA half reads.

#include "ops/conv2d/cuda/sweep.h"

namespace headroom::cuda {

// Few channels: too little to sum over for the tensor cores, so ordinary arithmetic does it from registers.
inline constexpr int kFewChannels = 3;
// Forward: a thread makes 2 rows x 6 columns x 6 maps.
inline constexpr int kFewColumns = 6, kFewMaps = 6, kFewThreads = 256;
inline constexpr int kFewStage = 2 * kFewMaps * kFewColumns * 32;  // words in which a warp sorts its outputs
// Gradient of the weights: a thread makes one row of taps for 3 maps.
inline constexpr int kFewWeightMaps = 3, kFewWeightThreads = 320;
// Words the window keeps of a row beyond the four columns under way.
constexpr int few_kept(int kernel_w) { return kernel_w > 5 ? 8 : 4; }

// A tile is an image, or a band of its output rows, in shared memory: lines of the input `pitch` words apart.
struct FewChannelsPlan {
  int rows, bands, tiles;
  int view_h, view_w, pitch, plane, top, left;  // plane: of one channel
  int columns, chunks;                          // register tiles along a row; chunks of maps
  int items;                                    // register tiles in all
  int shares;                                   // the gradient of the weights: threads that share the rows
  int dy_pitch, dy_plane;
  int threads, workers, bytes;
  Divide by_chunk, by_columns, by_view_h, by_rows;
};

}  // namespace headroom::cuda
