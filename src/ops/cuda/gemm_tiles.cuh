#pragma once

// A block computes one tile of C. Tiles of A and B travel to shared memory by asynchronous copies, some steps
// of k ahead (tile_operand.cuh); each warp multiplies slabs of them (tile_math.cuh) and stores what comes
// out.

#include "ops/cuda/finish.cuh"
#include "ops/cuda/gemm_tiles.h"
#include "ops/cuda/store_values.cuh"
#include "ops/cuda/tile_math.cuh"

namespace headroom::cuda {

// Bias and activation where the sum is whole, else the bare sum to its place among the partial ones.
template <class Math, int N>
__device__ inline void store_row(const TileArgs& args, int product, int split, std::int64_t row,
                                 std::int64_t column, typename Math::Sum (&x)[N]) {
  using T = typename Math::T;
  using Sum = typename Math::Sum;
  if (row >= args.m || column >= args.n) return;
  if (args.splits > 1) {
    Sum* to = static_cast<Sum*>(args.partial) +
              ((std::int64_t{split} * args.batch + product) * args.m + row) * args.n;
    store_values<Sum>(to, column, args.n, args.n % 4 == 0, x);
    return;
  }
  if (args.bias != nullptr) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (column + i < args.n) x[i] += widen(static_cast<const T*>(args.bias)[column + i]);
  }
  finish_values(args.finish, x);
  T* to = static_cast<T*>(args.c) + product * args.stride_c + row * args.ldc;
  store_values<T>(to, column, args.n, args.whole_c, x);
}

template <class Math, int kA, int kB>
__device__ inline void store_tile(const TileArgs& args, int product, int split, std::int64_t row,
                                  std::int64_t column, const typename Math::Sum (&sum)[2 * kA][4 * kB][4]) {
  using Sum = typename Math::Sum;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4 * kA; ++i) {  // slots of A
    const std::int64_t r = row + 32 * (i / 4) + (Math::kNeighbours ? 4 * g + i % 4 : 8 * (i % 4) + g);
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      if constexpr (Math::kNeighbours) {
        Sum x[8];
#pragma unroll
        for (int e = 0; e < 8; ++e) x[e] = sum[i / 2][4 * s + e % 4][2 * (i % 2) + e / 4];
        store_row<Math>(args, product, split, r, column + 32 * s + 8 * t, x);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          Sum x[2] = {sum[i / 2][4 * s + j][2 * (i % 2)], sum[i / 2][4 * s + j][2 * (i % 2) + 1]};
          store_row<Math>(args, product, split, r, column + 32 * s + 8 * j + 2 * t, x);
        }
      }
    }
  }
}

// Neighbouring blocks share tiles of B in groups of 8 tiles of rows, so that both operands stay in L2.
__device__ inline void tile_of_block(std::int64_t tiles_m, std::int64_t tiles_n, std::int64_t& at_m,
                                     std::int64_t& at_n) {
  constexpr unsigned kGroup = 8;
  const unsigned per_group = kGroup * static_cast<unsigned>(tiles_n), group = blockIdx.x / per_group;
  const unsigned first = group * kGroup, within = blockIdx.x % per_group;
  const unsigned size = min(kGroup, static_cast<unsigned>(tiles_m) - first);
  at_m = first + within % size, at_n = within / size;
}

template <class Math, int kTile, int kA, int kB, int kStages, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kTile / (32 * kA) * (kTile / (32 * kB)) * 32, kA == 1 ? 3 : 1)
    tiles(TileArgs args) {
  using T = typename Math::T;
  using Left = Operand<Math, kTile, kAlongA>;
  using Right = Operand<Math, kTile, kAlongB>;
  constexpr int kWarpsN = kTile / (32 * kB), kThreadsOfBlock = kTile / (32 * kA) * kWarpsN * 32;
  constexpr int kStage = Left::kElements + Right::kElements;
  extern __shared__ __align__(128) unsigned char shared[];
  T* const stages = reinterpret_cast<T*>(shared);

  const int product = static_cast<int>(blockIdx.z) % args.batch,
            split = static_cast<int>(blockIdx.z) / args.batch;
  std::int64_t row, column;
  tile_of_block((args.m + kTile - 1) / kTile, (args.n + kTile - 1) / kTile, row, column);
  row *= kTile, column *= kTile;
  const std::int64_t k0 = split * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const T* a = static_cast<const T*>(args.a) + product * args.stride_a +
               (kAlongA ? row * args.lda + k0 : k0 * args.lda + row);
  const T* b = static_cast<const T*>(args.b) + product * args.stride_b +
               (kAlongB ? column * args.ldb + k0 : k0 * args.ldb + column);
  const int steps = static_cast<int>((k1 - k0 + Math::kDepth - 1) / Math::kDepth);

  auto fetch = [&](int step) {
    if (step < steps) {
      T* const stage = stages + step % kStages * kStage;
      const std::int64_t k_left = k1 - k0 - std::int64_t{step} * Math::kDepth,
                         skip = std::int64_t{step} * Math::kDepth;
      Left::template copy<kThreadsOfBlock>(stage, a + (kAlongA ? skip : skip * args.lda), args.lda,
                                           args.m - row, k_left, args.whole_a);
      Right::template copy<kThreadsOfBlock>(stage + Left::kElements, b + (kAlongB ? skip : skip * args.ldb),
                                            args.ldb, args.n - column, k_left, args.whole_b);
    }
    commit_copies();  // also where nothing is left, so that the count below stays right
  };

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int slab_a = warp / kWarpsN * 32 * kA, slab_b = warp % kWarpsN * 32 * kB;
  typename Math::Sum sum[2 * kA][4 * kB][4] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this step has come for everyone, and everyone is done with the one fetch overwrites
    fetch(step + kStages - 1);
    const T* const stage = stages + step % kStages * kStage;
#pragma unroll(Math::kUnroll)
    for (int inner = 0; inner < Math::kSteps; ++inner)
      Math::template multiply<kA, kB, kTile, kTile, kAlongA, kAlongB>(sum, stage, slab_a,
                                                                      stage + Left::kElements, slab_b, inner);
  }
  store_tile<Math, kA, kB>(args, product, split, row + slab_a, column + slab_b, sum);
}

template <class Math, int kTile, int kA, int kB, int kStages>
TileKernel tile_kernel(bool along_a, bool along_b) {
  void (*const functions[4])(TileArgs) = {
      tiles<Math, kTile, kA, kB, kStages, false, false>, tiles<Math, kTile, kA, kB, kStages, false, true>,
      tiles<Math, kTile, kA, kB, kStages, true, false>, tiles<Math, kTile, kA, kB, kStages, true, true>};
  return {.function = functions[2 * along_a + along_b],
          .tile = kTile,
          .threads = kTile / (32 * kA) * (kTile / (32 * kB)) * 32,
          .shared_bytes = kStages * 2 * kTile * Math::kDepth * static_cast<int>(sizeof(typename Math::T))};
}

}  // namespace headroom::cuda
