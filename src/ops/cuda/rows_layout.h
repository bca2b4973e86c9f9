#pragma once

// Where the kernel of gemm_rows.h finds the rows of its larger factor in shared memory. All of it is
// arithmetic, so tests on any machine can try it (ops/product/rows_plan_test.cc).
//
// An instruction takes 16 of k. Lane (g, t) = (lane / 4, lane % 4) holds, of rows g and g + 8, the k 2 t, 2 t
// + 1, 2 t + 8 and 2 t + 9. The rows come as fp32 in lines of 128 bytes and the copy engine's swizzle
// (wgmma_layout.h):
//   along k    a line is a row at 32 of k; 128 rows make a box, and a stage has two boxes
//   across k   a line is 32 rows at one k; 64 k make a box, and a stage has four of them

#include "ops/cuda/wgmma_layout.h"

namespace headroom::cuda {

inline constexpr int kRowsOfTile = 128, kRowsDepth = 64;  // of a stage

// The row of 8 that lanes of group g hold. Along k half a warp reads 8 bytes a lane, of four rows that the
// swizzle keeps apart: all even, or all odd.
template <bool kAlong>
constexpr int row_of_group(int g) {
  return kAlong ? g % 4 * 2 + g / 4 : g;
}

// Byte of an element in a stage.
template <bool kAlong>
constexpr unsigned row_value_at(int row, int k) {
  const unsigned r = static_cast<unsigned>(row), c = static_cast<unsigned>(k);
  if (kAlong) return c / 32 * (kRowsOfTile * kLineBytes) + swizzled(r * kLineBytes + c % 32 * 4);
  return r / 32 * (kRowsDepth * kLineBytes) + swizzled(c * kLineBytes + r % 32 * 4);
}

}  // namespace headroom::cuda
