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

// A thread's way through planes of rows x columns: every `threads`-th element. Divisions are for the first
// alone.
struct PlaneWalk {
  int plane, row, column;
  int rows, columns, planes_on, rows_on, columns_on;  // extents; to the next element
  constexpr PlaneWalk(int plane_rows, int plane_columns, int thread, int threads)
      : plane(thread / (plane_rows * plane_columns)),
        row(thread / plane_columns - plane * plane_rows),
        column(thread % plane_columns),
        rows(plane_rows),
        columns(plane_columns),
        planes_on(threads / (rows * columns)),
        rows_on(threads / columns - planes_on * rows),
        columns_on(threads % columns) {}
  constexpr void next() {
    plane += planes_on, row += rows_on, column += columns_on;
    if (column >= columns) column -= columns, ++row;
    if (row >= rows) row -= rows, ++plane;
  }
};

}  // namespace headroom::cuda
