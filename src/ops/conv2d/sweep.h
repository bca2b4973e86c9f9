#pragma once

// Convolutions as kernels on the GPU take them: plain data, for C++ and CUDA sources alike.

#include <cstdint>

namespace headroom::cuda {

// The forward product and the gradient of the input are one thing: windows that slide over planes and sum
// over channels. Output row p reads, for tap k, input row (p * mul + off + k * step) / div where that divides
// and lies inside; columns likewise. Forward: mul = stride, off = -pad, step = dilation, div = 1. Gradient of
// the input, sliding over dy: mul = 1, off = pad, step = -dilation, div = stride.
struct Sweep {
  int batch, groups;
  int channels, maps;  // of one group: those summed over, those made
  int in_h, in_w, out_h, out_w, kernel_h, kernel_w;
  int mul_h, mul_w, off_h, off_w, step_h, step_w, div_h, div_w;
  std::int64_t weight_group, weight_map, weight_channel;  // steps in the weights; taps follow one another
  int activation;                                         // as headroom::Activation counts

  constexpr int taps() const { return kernel_h * kernel_w; }
  constexpr int depth() const { return channels * taps(); }
  constexpr int out_plane() const { return out_h * out_w; }
  constexpr int in_plane() const { return in_h * in_w; }
  constexpr std::int64_t pixels() const { return std::int64_t{batch} * out_h * out_w; }
};

// Division by a number known at launch, by one multiplication. Exact for numerators and divisors below 2^16:
// what is counted inside shared memory.
struct Divide {
  unsigned by = 1, factor = 0;
};
constexpr Divide divide_by(int n) {
  return {static_cast<unsigned>(n), n > 1 ? 0xFFFFFFFFU / static_cast<unsigned>(n) + 1 : 0};
}

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
  Divide by_pixels, by_width, by_view_h, by_view_w, by_taps;
  // The gradient of the weights: (channel, tap) rows in groups of 32, cut over blocks and warps; the warps
  // beyond those share the pixels of a tile.
  int row_groups, row_blocks, slices, pixel_pitch;
  Divide by_pixel_pitch;
};

// Few channels: too little to sum over for the tensor cores, so ordinary arithmetic does it from registers.
inline constexpr int kFewChannels = 3;
// Forward: a thread makes 2 rows x 6 columns x 6 maps.
inline constexpr int kFewColumns = 6, kFewMaps = 6, kFewThreads = 256;
inline constexpr int kFewStage = 2 * kFewMaps * kFewColumns * 32;  // words in which a warp sorts its outputs
// Gradient of the weights: a thread makes one row of taps for 3 maps.
inline constexpr int kFewWeightMaps = 3, kFewWeightThreads = 320;
// What the window keeps of a row beyond the four columns under way.
constexpr int few_kept(int kernel_w) { return kernel_w > 5 ? 8 : 4; }

// A tile is an image, or a band of its output rows, in shared memory: lines of the input `pitch` words apart.
struct FewPlan {
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
