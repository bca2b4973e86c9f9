#pragma once

#include "ops/cuda/finish.cuh"
#include "ops/product/cuda/rung_args.h"

namespace headroom::cuda {

using products::RungArgs;

// The matrices of one product of a batch.
template <class T>
struct RungPlace {
  const T *a, *b, *add;
  T* c;
  __device__ explicit RungPlace(const RungArgs& args)
      : a(static_cast<const T*>(args.a) + blockIdx.z * args.stride_a),
        b(static_cast<const T*>(args.b) + blockIdx.z * args.stride_b),
        add(args.add == nullptr ? nullptr : static_cast<const T*>(args.add) + blockIdx.z * args.stride_c),
        c(static_cast<T*>(args.c) + blockIdx.z * args.stride_c) {}
};

// What the output becomes where its sum of products is known. N neighbours of a row, all inside the matrix.
template <class T, int N>
__device__ inline void finish_sums(const RungArgs& args, const T* add, std::int64_t row, std::int64_t column,
                                   T (&x)[N]) {
  const T alpha = static_cast<T>(args.alpha), beta = static_cast<T>(args.beta);
#pragma unroll
  for (int e = 0; e < N; ++e) {
    x[e] *= alpha;
    if (add != nullptr) x[e] += beta * add[row * args.ldc + column + e];
    if (args.bias != nullptr) x[e] += static_cast<const T*>(args.bias)[column + e];
  }
  finish_values(args.finish, x);
}

template <class T>
__device__ inline void store_sum(const RungArgs& args, const RungPlace<T>& at, std::int64_t row,
                                 std::int64_t column, T sum) {
  if (row >= args.m || column >= args.n) return;
  T x[1] = {sum};
  finish_sums(args, at.add, row, column, x);
  at.c[row * args.ldc + column] = x[0];
}

// Blocks for tiles of the output: tiles of a row of tiles follow one another in x, products of a batch in z.
inline dim3 grid_of_tiles(const RungArgs& args, std::int64_t tile_m, std::int64_t tile_n) {
  const std::int64_t tiles = (args.m + tile_m - 1) / tile_m * ((args.n + tile_n - 1) / tile_n);
  return dim3(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(args.batch));
}
struct TileCorner {
  std::int64_t row, column;
  __device__ TileCorner(const RungArgs& args, int tile_m, int tile_n) {
    const auto across = static_cast<unsigned>((args.n + tile_n - 1) / tile_n);
    row = std::int64_t{blockIdx.x / across} * tile_m, column = std::int64_t{blockIdx.x % across} * tile_n;
  }
};

}  // namespace headroom::cuda
