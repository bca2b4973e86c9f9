#pragma once

// Along an axis that is not the last: neighbouring threads take neighbouring lines, whose elements lie side
// by side; eight rows of threads share the length of a line.

#include "ops/cuda/index.cuh"
#include "ops/softmax/cuda/rows.h"

namespace headroom::cuda {

inline constexpr int kColumnLanes = 32, kColumnRows = 8;

template <class C, class Join>
__device__ inline C join_rows(C x, Join join) {
  __shared__ C parts[kColumnRows][kColumnLanes];
  __syncthreads();
  parts[threadIdx.y][threadIdx.x] = x;
  __syncthreads();
  C all = parts[0][threadIdx.x];
#pragma unroll
  for (int k = 1; k < kColumnRows; ++k) all = join(all, parts[k][threadIdx.x]);
  return all;
}

struct ColumnPlace {
  bool live;
  std::int64_t base;
};

// Lines past the last one are read as if they were the first, and not written.
__device__ inline ColumnPlace column_place(const SoftmaxShape& s) {
  const std::int64_t line = std::int64_t{blockIdx.x} * kColumnLanes + threadIdx.x;
  const bool live = line < s.outer * s.inner;
  const Cut c = cut(live ? line : 0, s.inner);
  return {live, c.whole * s.length * s.inner + c.rest};
}

inline unsigned column_blocks(const SoftmaxShape& s) { return blocks_for(s.outer * s.inner, kColumnLanes); }

}  // namespace headroom::cuda
