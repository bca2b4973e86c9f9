#pragma once

// A matrix product whose operands are functions: p.left(i, k), p.right(k, j) and p.write(i, j, sum) of an
// m x n result with k terms each. Tiles pass through shared memory, 4 x 4 results a thread.

#include "ops/cuda/index.cuh"

namespace headroom::cuda {

inline constexpr int kProductTile = 64, kProductDepth = 16;

template <class T, class P>
__global__ void __launch_bounds__(kThreads) run_product(const __grid_constant__ P p) {
  using C = Compute<T>;
  __shared__ C left[kProductDepth][kProductTile + 1], right[kProductDepth][kProductTile + 1];
  const std::int64_t across = (p.n + kProductTile - 1) / kProductTile;
  const Cut tile = cut(blockIdx.x, across);
  const std::int64_t row = tile.whole * kProductTile, column = tile.rest * kProductTile;
  const int down = threadIdx.x / 16, along = threadIdx.x % 16;
  C sums[4][4] = {};
  for (std::int64_t k = 0; k < p.k; k += kProductDepth) {
    for (int e = threadIdx.x; e < kProductTile * kProductDepth; e += kThreads) {
      const int deep = P::kLeftAlongK ? e % kProductDepth : e / kProductTile;
      const int i = P::kLeftAlongK ? e / kProductDepth : e % kProductTile;
      left[deep][i] = row + i < p.m && k + deep < p.k ? p.left(row + i, k + deep) : C{0};
      const int j = e % kProductTile, depth = e / kProductTile;
      right[depth][j] = column + j < p.n && k + depth < p.k ? p.right(k + depth, column + j) : C{0};
    }
    __syncthreads();
    for (int deep = 0; deep < kProductDepth; ++deep)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += left[deep][down + 16 * i] * right[deep][along + 16 * j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (const std::int64_t at = row + down + 16 * i, to = column + along + 16 * j; at < p.m && to < p.n)
        p.write(at, to, sums[i][j]);
}

template <class T, class P>
void product(const P& p, cudaStream_t stream) {
  const std::int64_t tiles =
      (p.m + kProductTile - 1) / kProductTile * ((p.n + kProductTile - 1) / kProductTile);
  run_product<T><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>(p);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
