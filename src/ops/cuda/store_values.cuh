#pragma once

#include "ops/cuda/types.cuh"

namespace headroom::cuda {

// N neighbours of a row from `column` on.
template <class T, int N, class From>
__device__ inline void store_values(T* row, std::int64_t column, std::int64_t n, bool whole,
                                    const From (&x)[N]) {
  constexpr int kChunk = N * sizeof(T) < 16 ? N : kPack<T>;
  if (whole && column + N <= n) {
#pragma unroll
    for (int i = 0; i < N; i += kChunk) {
      Pack<T, kChunk> y;
#pragma unroll
      for (int e = 0; e < kChunk; ++e) y.v[e] = narrow<T>(x[i + e]);
      *reinterpret_cast<Pack<T, kChunk>*>(row + column + i) = y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (column + i < n) row[column + i] = narrow<T>(x[i]);
  }
}

}  // namespace headroom::cuda
