#pragma once

// How cuda:pixel_runs cuts images: plain data that its C++ half makes and its CUDA half reads.

#include "ops/conv2d/cuda/sweep.h"

namespace headroom::cuda {

inline constexpr int kRunThreads = 256;        // of a block, two of which share a multiprocessor
inline constexpr int kRunWeightThreads = 384;  // the same for the gradient of the weights
inline constexpr int kRunWidths[] = {6, 8, 10, 14};
inline constexpr int kRunMaps[] = {3, 4};

// What a run sees of a row: its windows, the same for the gradient of the input, or only the image where a
// run is a whole row of that gradient.
enum class RunKind { forward, gradient, whole_gradient };

// Registers hold 14 x 3 sums beside what they are made of, not 14 x 4. A whole row is longer than a window.
constexpr bool run_fits(int run, int maps, int kernel_w, RunKind kind) {
  return run * maps <= 48 && (kind != RunKind::whole_gradient || run > kernel_w);
}

// A block holds one image at a time. A line is a channel with one row of taps: what threads sum over.
struct RunsPlan {
  int lines, view_h, pitch, plane;  // the view of the image, with its padding: rows of `pitch` words
  int first_row, first_column;      // of the image in its view
  int unit, weight_unit;            // words of the image and of the weights that are copied at once
  int workers, threads, bytes;
  int maps, map_groups;      // maps of a thread
  int items, shares, slots;  // threads with different results; sums they share; their pitch
  // The forward product and the gradient of the input: a thread makes `run` outputs in a row.
  int run, runs, item_warps, lines_of_share;
  RunKind kind;
  // The gradient of the weights: a thread makes a line's row of taps.
  int quads, rows_of_share, dy_pitch, dy_plane, dy_unit;
  Divide by_kernel_h, by_items_of_group, by_runs, by_plane, by_width, by_in_h, by_view_h, by_quads, by_units,
      by_dy_units, by_out_h, by_depth;
};

}  // namespace headroom::cuda
