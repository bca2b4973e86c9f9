#pragma once

// cuda:block_mma, as its C++ half plans it and its CUDA half runs it: plain data, and the arithmetic of its
// indices. All of it is constexpr, so that block_mma_test.cc can walk through a launch without a GPU.
//
// The tensor cores multiply rows by columns: a row is an output position, a column a map, and both are summed
// over words. A word is a pair of neighbours along the sum: two channels of one pixel, or two pixels of one
// channel. The view holds the image as such words, so that a lane of a fragment reads the two elements it
// needs at once, wherever its window begins. Eight words, 16 products, are one step.
//
// Quads: if the pooling windows are 2x2 side by side, a column stands for one map at one of two neighbouring
// output columns, and rows g and g + 8 of a fragment for two neighbouring output rows. The four results that
// a lane then holds are one pooling window.

#include <bit>
#include <cstdint>

#include "ops/conv2d/cuda/sweep.h"

namespace headroom::cuda {

inline constexpr int kBlockGroup = 4;  // steps whose large products share one short sum: 64 terms

// Fragments of 16 rows in a warp, by the registers that sums take: split, three sets of them.
constexpr int block_rows16(bool split, int columns8) { return !split ? 4 : columns8 > 1 ? 2 : 3; }
// Threads of all blocks on a multiprocessor: at most 128 registers each, 168 or 255.
constexpr int block_threads(bool split, int columns8) {
  return split ? (columns8 > 3 ? 256 : 384) : columns8 > 3 ? 384 : 512;
}

enum class BlockPooling : int { none, max, mean };

// Where a warp puts 16 places of four fragments for 8 maps side by side, to store them as they lie in memory:
// lanes write to different banks.
inline constexpr int kBlockRun = 64, kBlockRunPitch = 68, kBlockRunFloats = 8 * kBlockRunPitch;

// The problem.
struct BlockShape {
  int batch, channels, maps;
  int in_h, in_w, conv_h, conv_w, kernel_h, kernel_w;
  int stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
  int activation;  // as headroom::Activation counts
  BlockPooling pooling;
  int pool_h, pool_w, step_h, step_w;  // windows of pooling, and how far they lie apart; all 1: none
  int out_h, out_w;
  bool flipped;  // the gradient of an input: a convolution of dy, see weight_place

  constexpr int depth() const { return channels * kernel_h * kernel_w; }
  bool operator==(const BlockShape&) const = default;
};

// How it is cut. A tile is a band of output rows of one image, for the maps of one block.
struct BlockPlan {
  bool split;             // exact fp32: two parts of each element
  bool by_columns, quad;  // words are pairs of columns, else of channels; see above
  bool direct;            // results go to the output warp by warp; else they are staged to be pooled
  int planes, fours;      // of words in the view; those whose terms come in fours
  int tap_columns, words, steps;
  int columns8, block_maps, map_blocks;
  int rows, bands, tiles;
  int conv_rows;            // of the convolution, for a band
  int place_rows, place_w;  // positions whose results are staged
  int view_h, pitch, plane, view_words;
  bool by_pixels;  // the view is filled pixel by pixel, else word by word
  int stage_pitch;
  int threads, workers;
  int terms_at, view_at, stage_at, slots_at, bytes;  // in shared memory; the weights come first, then these
  Divide by_place_w, by_band, by_out_w, by_in_w;
};

// Split, a warp has fewer results side by side, and shared memory is better spent on a second block.
constexpr bool stores_runs(const BlockPlan& q) { return q.direct && !q.quad && !q.split; }

constexpr int divided(int x, const Divide& d) {
  return d.by == 1 ? x : static_cast<int>((std::uint64_t{static_cast<unsigned>(x)} * d.factor) >> 32);
}

// Words that the banks of shared memory hold once.
inline constexpr int kBlockBanks = 32;

// Planes begin in different banks, such that the lanes of a fragment read different ones.
constexpr int plane_begin(const BlockPlan& q, int plane) {
  constexpr int banks = kBlockBanks;
  const int i = plane - q.fours;
  const int four = q.quad ? plane % 2 + plane / 2 % 2 * (banks / 2) : plane % 4 * (banks / 4);
  return plane * q.plane + (i < 0 ? four : i % 2 * (banks / 2));
}

// One word of the sum: a plane of the view, a row of taps, and a column of taps or of pairs of them.
struct BlockTerm {
  int plane, row, column;  // plane -1: behind the last one
};
// Four planes at once, tap by tap; then two planes, then the last one. So a half step of four words reads
// four planes, two taps of two planes, or four taps.
constexpr BlockTerm block_term(const BlockShape& s, const BlockPlan& q, int word) {
  if (word >= q.words) return {-1, 0, 0};
  const int taps = s.kernel_h * q.tap_columns, twos = (q.planes - q.fours) / 2 * 2;
  int tap = 0, plane = 0;
  if (word < q.fours * taps) {
    const int rest = word % (4 * taps);
    tap = rest / 4, plane = word / (4 * taps) * 4 + rest % 4;
  } else if (word < (q.fours + twos) * taps) {
    const int rest = word - q.fours * taps;
    tap = rest / 2, plane = q.fours + rest % 2;
  } else {
    tap = word - (q.fours + twos) * taps, plane = q.planes - 1;
  }
  return {plane, tap / q.tap_columns, tap % q.tap_columns};
}

// Where in the view it lies, seen from the window's first word. Behind the last: anywhere, its weight is 0.
constexpr int term_place(const BlockShape& s, const BlockPlan& q, const BlockTerm& term) {
  if (term.plane < 0) return 0;
  const int column = term.column * (q.by_columns ? 2 : 1) * s.dilation_w;
  return plane_begin(q, term.plane) + term.row * s.dilation_h * q.pitch + column;
}

// The index among a map's weights of one half of a word, for windows that begin `shift` outputs further; -1:
// none, it is 0.
constexpr int term_weight(const BlockShape& s, const BlockPlan& q, const BlockTerm& term, int half,
                          int shift) {
  const int channel = q.by_columns ? term.plane : 2 * term.plane + half;
  const int column = (q.by_columns ? 2 * term.column + half : term.column) - shift * s.stride_w;
  if (term.plane < 0 || channel >= s.channels || column < 0 || column >= s.kernel_w) return -1;
  return (channel * s.kernel_h + term.row) * s.kernel_w + column;
}

// Where in the tensor of weights an index among those of a map lies. What the gradient of an input takes for
// maps are the weights' channels, and its taps run backwards.
constexpr int weight_place(const BlockShape& s, int map, int at) {
  if (!s.flipped) return map * s.depth() + at;
  const int taps = s.kernel_h * s.kernel_w, channel = at / taps;
  return (channel * s.maps + map) * taps + taps - 1 - (at - channel * taps);
}

// The two elements of a word of the view: channels, and columns of the input; rows are the view's own.
struct WordSource {
  int channel[2], column[2];
};
constexpr WordSource word_source(const BlockShape& s, const BlockPlan& q, int plane, int column) {
  const int first = column - s.pad_w;
  if (q.by_columns) return {{plane, plane}, {first, first + s.dilation_w}};
  return {{2 * plane, 2 * plane + 1}, {first, first}};
}

// The place in a plane of the view of a pixel, counted from the view's first row of the image on.
constexpr int pixel_place(const BlockShape& s, const BlockPlan& q, int pixel) {
  return pixel + divided(pixel, q.by_in_w) * (q.pitch - s.in_w) + s.pad_w;
}
// Not where words are two columns, which hold a pixel in the border too; nor where strides leave out the last
// columns, which would be the next row's; nor for so few pixels that threads have none.
constexpr bool fills_pixels(const BlockShape& s, const BlockPlan& q) {
  return !q.by_columns && q.pitch >= s.pad_w + s.in_w && q.view_h * s.in_w >= 2 * q.threads;
}

// A band of an image.
struct BlockTile {
  int image, first_row, rows;  // of the output
  int first_conv_row, conv_rows, places;
};
constexpr BlockTile block_tile(const BlockShape& s, const BlockPlan& q, int index) {
  BlockTile tile{};
  tile.image = index / q.bands;
  tile.first_row = (index - tile.image * q.bands) * q.rows;
  tile.rows = q.rows < s.out_h - tile.first_row ? q.rows : s.out_h - tile.first_row;
  tile.first_conv_row = tile.first_row * s.step_h;
  const int reach = (tile.rows - 1) * s.step_h + s.pool_h, left = s.conv_h - tile.first_conv_row;
  tile.conv_rows = reach < left ? reach : left;
  tile.places = (q.quad ? tile.rows : tile.conv_rows) * q.place_w;
  return tile;
}
// The input row that the view of a tile begins with.
constexpr int view_top(const BlockShape& s, const BlockTile& tile) {
  return tile.first_conv_row * s.stride_h - s.pad_h;
}

constexpr int places_of_fragment(const BlockPlan& q) { return q.quad ? 8 : 16; }
// The place that row `row` of a fragment computes, and where in the view its window begins.
constexpr int row_place(const BlockPlan& q, int fragment, int row) {
  return q.quad ? 8 * fragment + row % 8 : 16 * fragment + row;
}
constexpr int window_begin(const BlockShape& s, const BlockPlan& q, int place, int row) {
  const int line = divided(place, q.by_place_w), column = place - line * q.place_w;
  const int conv_row = q.quad ? 2 * line + row / 8 : line, conv_column = q.quad ? 2 * column : column;
  return conv_row * s.stride_h * q.pitch + conv_column * s.stride_w;
}

// The map, among those of a block, that a column computes, and its shift.
constexpr int column_map(const BlockPlan& q, int column) { return q.quad ? column / 2 : column; }
constexpr int column_shift(const BlockPlan& q, int column) { return q.quad ? column % 2 : 0; }

// The elements of a lane's registers. A: row and word of the step, for register 0 to 3; B: word and column,
// for register 0 and 1; C: row and column, for register 0 to 3.
constexpr int a_row(int lane, int i) { return lane / 4 + i % 2 * 8; }
constexpr int a_word(int lane, int i) { return lane % 4 + i / 2 * 4; }
constexpr int b_word(int lane, int i) { return lane % 4 + i * 4; }
constexpr int b_column(int lane) { return lane / 4; }
constexpr int c_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
constexpr int c_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

// The power of two that brings the largest absolute value, given by its bits, to between 2^14 and 2^15, as a
// biased exponent of 14 to 253. Below 2^-112 it stays at 2^126, the most that a float holds.
constexpr int block_scale(unsigned largest) {
  const int exponent = static_cast<int>(largest >> 23);
  return 268 - (exponent < 15 ? 15 : exponent);
}
inline constexpr int kBlockUnscaled = 127;
constexpr float block_power(int biased) { return std::bit_cast<float>(static_cast<unsigned>(biased) << 23); }
// Both scales at once could be more than a float holds, each half of their exponent cannot.
struct BlockUndo {
  float first, second;
};
constexpr BlockUndo undo_scales(int a, int b) {
  const int exponent = 2 * kBlockUnscaled - a - b, half = exponent / 2;
  return {block_power(kBlockUnscaled + half), block_power(kBlockUnscaled + exponent - half)};
}
// Bits of floats without their sign are in the order of their values. Infinities and NaN do not count.
constexpr unsigned larger_bits(unsigned largest, float x) {
  const unsigned bits = std::bit_cast<unsigned>(x) & 0x7FFFFFFFU;
  return bits > largest && bits < 0x7F800000U ? bits : largest;
}

// The larger of two; NaN is larger than any number.
constexpr float pooled_max(float best, float next) { return !(next <= best) && best == best ? next : best; }

// The rows or columns, among those staged, of one window of pooling: the last ones may be cut off.
constexpr int pool_reach(int first, int extent, int staged) {
  return first + extent < staged ? first + extent : staged;
}

}  // namespace headroom::cuda
