#pragma once

// Products of small tiles by one warp, over ops/cuda/mma.cuh. All element types share one layout of words,
// with g = lane / 4 and t = lane % 4: A has 16 rows by 8 words {(g, t), (g + 8, t), (g, t + 4), (g + 8, t +
// 4)}, B 8 columns by 8 words {(t, g), (t + 4, g)}, C {(g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t +
// 1)}. A word is one fp32 or fp64 element, or two neighbours of 16 bits.

#include "ops/cuda/mma.cuh"

namespace headroom::cuda {

// The fp64 unit takes 8 by 4: four of them make the common shape.
__device__ inline void mma_fp64_16x8(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    double rows[2] = {c[2 * half], c[2 * half + 1]};
#pragma unroll
    for (int k = 0; k < 2; ++k) mma_fp64(rows, a[2 * k + half], b[k]);
    c[2 * half] = rows[0], c[2 * half + 1] = rows[1];
  }
}

template <int N>
__device__ inline void split_all(const float (&x)[N], unsigned (&high)[N], unsigned (&low)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const SplitTf32 parts = split_tf32(x[i]);
    high[i] = parts.hi, low[i] = parts.lo;
  }
}

// Products of one step of 8 words: every A with every B, by way of `add`(which, i, j, a, b). Split: the small
// products (which = 1) first, then the large one.
template <bool kSplit, int M, int N, class Add>
__device__ inline void multiply_by(const float (&a)[M][4], const float (&b)[N][2], const Add& add) {
  unsigned a_high[M][4], b_high[N][2];
  if constexpr (kSplit) {
    unsigned a_low[M][4], b_low[N][2];
#pragma unroll
    for (int j = 0; j < N; ++j) split_all(b[j], b_high[j], b_low[j]);
#pragma unroll
    for (int i = 0; i < M; ++i) split_all(a[i], a_high[i], a_low[i]);
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j) add(1, i, j, a_low[i], b_high[j]);
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j) add(1, i, j, a_high[i], b_low[j]);
  } else {  // rounded before
#pragma unroll
    for (int j = 0; j < N; ++j)
      b_high[j][0] = __float_as_uint(b[j][0]), b_high[j][1] = __float_as_uint(b[j][1]);
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) a_high[i][e] = __float_as_uint(a[i][e]);
  }
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j) add(0, i, j, a_high[i], b_high[j]);
}
template <bool kSplit, int M, int N>
__device__ inline void multiply(const float (&a)[M][4], const float (&b)[N][2], float (&c)[M][N][4]) {
  multiply_by<kSplit>(a, b, [&](int, int i, int j, const unsigned(&x)[4], const unsigned(&y)[2]) {
    mma_tf32(c[i][j], x, y);
  });
}

// The accumulator of the tensor cores cuts instead of rounding, always towards zero: after a few steps it is
// emptied into an ordinary sum.
template <class C, int M, int N>
__device__ inline void promote(C (&sum)[M][N][4], C (&acc)[M][N][4]) {
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[i][j][e] += acc[i][j][e], acc[i][j][e] = 0;
}

}  // namespace headroom::cuda
