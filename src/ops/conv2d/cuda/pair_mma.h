#pragma once

// cuda:pair_mma, as its C++ half plans it and its CUDA half runs it: plain data, and the arithmetic of its
// indices. All of it is constexpr, so that pair_mma_test.cc can walk through a launch without a GPU.
//
// For images of one channel. A word holds two neighbouring pixels, the first of them in an even column of the
// view. Row g of a fragment is one quad of 2 x 2 outputs: g its upper row, g + 8 its lower one; a column of
// the product is one map at the left or at the right output. So a row of taps is multiplied by two rows of
// the image, four words wide, and windows are at most 7 taps wide. A step takes two rows of taps. Those of
// even number come first: their words are pairs of rows as the view holds them, and lie in neighbouring
// registers.

#include "ops/conv2d/cuda/block_mma.h"

namespace headroom::cuda {

inline constexpr int kPairThreads = 128;
inline constexpr int kPairBlocks = 4;    // of one multiprocessor: 128 registers for each thread
inline constexpr int kPairTaps = 7;      // rows and columns of taps, at most
inline constexpr int kPairColumns8 = 3;  // groups of 8 columns of the product, 4 maps each, at most

// How it is cut. A tile is a band of quads of one image, for the maps of one block.
struct PairPlan {
  bool split;                      // exact fp32: two parts of each element
  int steps;                       // 2, 3 or 4: up to 3, 5 or 7 rows of taps
  int columns8, map_blocks;        // groups of columns in a block
  int quad_h, quad_w;              // of a map
  int rows, bands, tiles;          // rows of quads in a band
  int view_rows2, words_w, pitch;  // pairs of rows, words in a row, words between pairs of rows
  int view_words, workers, bytes;
  Divide by_quad_w, by_words_w;

  constexpr int block_maps() const { return 4 * columns8; }
  constexpr int words() const { return 2 * view_rows2 * words_w; }
};

// A band of an image, in quads.
struct PairTile {
  int image, first_row, rows, places;
};
constexpr PairTile pair_tile(const PairPlan& q, int index) {
  PairTile tile{};
  tile.image = index / q.bands;
  tile.first_row = (index - tile.image * q.bands) * q.rows;
  tile.rows = q.rows < q.quad_h - tile.first_row ? q.rows : q.quad_h - tile.first_row;
  tile.places = tile.rows * q.quad_w;
  return tile;
}

// The pixels of a word of a tile's view: the input's row, and the column of the first one.
struct PairSource {
  int row, column, to;  // to: where in the view it lies
};
constexpr PairSource pair_source(const BlockShape& s, const PairPlan& q, const PairTile& tile, int word) {
  const int row = divided(word, q.by_words_w), column = word - row * q.words_w;
  return {2 * tile.first_row - s.pad_h + row, 2 * column - s.pad_w,
          2 * (row / 2 * q.pitch + column) + row % 2};
}

// Where in the view, in pairs of rows, the window of a quad begins; its word t lies t further.
constexpr int pair_window(const PairPlan& q, int place) {
  const int line = divided(place, q.by_quad_w);
  return line * q.pitch + (place - line * q.quad_w);
}
// The row of taps of one half of a step; it may be behind the last one.
constexpr int pair_tap(int steps, int step, int half) {
  const int even = steps > 2 ? 2 : 1;
  return step < even ? 4 * step + 2 * half : 4 * (step - even) + 2 * half + 1;
}
// The row of the window that word e of a step has. Taps behind the last one have no weight: any row will do.
constexpr int pair_row(int steps, int step, int e) {
  const int tap = pair_tap(steps, step, e / 2), last = 2 * steps - 2;
  return (tap < last ? tap : last) + e % 2;
}
// The weight, among those of a map, of half `half` of the word t of one row of taps; -1: none.
constexpr int pair_weight(const BlockShape& s, int tap, int t, int half, int shift) {
  const int column = 2 * t + half - shift;
  return tap >= s.kernel_h || column < 0 || column >= s.kernel_w ? -1 : tap * s.kernel_w + column;
}

}  // namespace headroom::cuda
