#pragma once

// Products of matrices whose elements a functor fetches: C[m][n] = sum over k of a(m, k) b(k, n), for the
// rungs that see a convolution as one. Outside the matrices the functors are not called.

namespace headroom::cuda {

// kTile x kTile threads, one sum each, tiles of both factors in shared memory.
template <int kTile, class A, class B, class Store>
__device__ inline void shared_product(int rows, int columns, int depth, const A& a, const B& b,
                                      const Store& store) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int ty = static_cast<int>(threadIdx.y), tx = static_cast<int>(threadIdx.x);
  const int m = static_cast<int>(blockIdx.y) * kTile + ty, n = static_cast<int>(blockIdx.x) * kTile + tx;
  float sum = 0;
  for (int first = 0; first < depth; first += kTile) {
    as[ty][tx] = m < rows && first + tx < depth ? a(m, first + tx) : 0.0F;
    bs[ty][tx] = n < columns && first + ty < depth ? b(first + ty, n) : 0.0F;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  if (m < rows && n < columns) store(m, n, sum);
}

// 256 threads, 4 x 4 sums each: of kRows * kColumns = 4096 outputs. A loaded value serves four products.
inline constexpr int kProductThreads = 256, kProductDepth = 16;

template <int kRows, int kColumns, class A, class B, class Store>
__device__ inline void register_product(int rows, int columns, int depth, const A& a, const B& b,
                                        const Store& store) {
  static_assert(kRows * kColumns == 16 * kProductThreads && kColumns <= kProductThreads);
  constexpr int kAcross = kColumns / 4;  // threads; each has columns that far apart, so that warps read rows
  __shared__ float as[kProductDepth][kRows + 1], bs[kProductDepth][kColumns];
  const int me = static_cast<int>(threadIdx.x), tx = me % kAcross, ty = me / kAcross;
  const int m0 = static_cast<int>(blockIdx.y) * kRows, n0 = static_cast<int>(blockIdx.x) * kColumns;
  const int own = me % kColumns;  // the column that this thread fetches
  float sum[4][4] = {};
  for (int first = 0; first < depth; first += kProductDepth) {
    for (int at = me; at < kRows * kProductDepth; at += kProductThreads) {
      const int m = at / kProductDepth, k = at % kProductDepth;
      as[k][m] = m0 + m < rows && first + k < depth ? a(m0 + m, first + k) : 0.0F;
    }
#pragma unroll
    for (int k = me / kColumns; k < kProductDepth; k += kProductThreads / kColumns)
      bs[k][own] = n0 + own < columns && first + k < depth ? b(first + k, n0 + own) : 0.0F;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kProductDepth; ++k) {
      float left[4], right[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) left[i] = as[k][ty * 4 + i], right[i] = bs[k][tx + i * kAcross];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (const int m = m0 + ty * 4 + i, n = n0 + tx + j * kAcross; m < rows && n < columns)
        store(m, n, sum[i][j]);
}

}  // namespace headroom::cuda
