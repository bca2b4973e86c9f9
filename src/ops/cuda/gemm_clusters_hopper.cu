#include "ops/cuda/gemm_clusters.h"

#include <algorithm>

#include "ops/cuda/cluster.cuh"
#include "ops/cuda/finish.cuh"
#include "ops/cuda/store_values.cuh"
#include "ops/cuda/tile_math.cuh"
#include "ops/cuda/wgmma.cuh"

namespace headroom::cuda {
namespace {

constexpr int kSide = kClusterTile, kThreadsOfBlock = 256, kGroups = 2;  // groups of four warps share a step
constexpr int kLine = kSide + 4;                                         // floats of a row of sums
constexpr int kPieces = kSide / 4;  // of a row of a tile, four floats each

using Sums = float[2][4][4];

// Once what this thread asked for has come, it counts as one arrival.
__device__ inline void arrive_after_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// The sums of a warp to their place in the tile, on top of what is there or not. A lane has rows 4 g to
// 4 g + 3 and columns 8 t to 8 t + 7 of the warp's 32 x 32: see BlockMath.
template <bool kAdd>
__device__ inline void put(const Sums& sum, float* tile, int row, int column) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      auto* const at = reinterpret_cast<float4*>(tile + (row + 4 * g + i) * kLine + column + 8 * t + 4 * h);
      float4 x = kAdd ? *at : make_float4(0, 0, 0, 0);
      x.x += sum[i / 2][0][2 * (i % 2) + h], x.y += sum[i / 2][1][2 * (i % 2) + h];
      x.z += sum[i / 2][2][2 * (i % 2) + h], x.w += sum[i / 2][3][2 * (i % 2) + h];
      *at = x;
    }
}

// Each block finishes a part of the tile: the sums of all blocks, in the order of k.
__device__ inline void finish_tile(const ClusterArgs& args, const float* tile, std::int64_t row0,
                                   std::int64_t column0) {
  const int share = (kSide * kPieces + args.blocks - 1) / args.blocks;
  const int rank = args.blocks > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int end = min(kSide * kPieces, (rank + 1) * share);
#pragma unroll 1
  for (int i = rank * share + static_cast<int>(threadIdx.x); i < end; i += kThreadsOfBlock) {
    const std::int64_t row = row0 + i / kPieces, column = column0 + i % kPieces * 4;
    if (row >= args.m || column >= args.n) continue;
    const float* const from = tile + i / kPieces * kLine + i % kPieces * 4;
    float4 v[kMaxCluster];
#pragma unroll
    for (int r = 0; r < kMaxCluster; ++r)
      if (r < args.blocks)
        v[r] = args.blocks > 1 ? load_four_of_cluster(address_in_cluster(shared_address(from), r))
                               : *reinterpret_cast<const float4*>(from);
    float x[4] = {v[0].x, v[0].y, v[0].z, v[0].w};
#pragma unroll
    for (int r = 1; r < kMaxCluster; ++r)
      if (r < args.blocks) x[0] += v[r].x, x[1] += v[r].y, x[2] += v[r].z, x[3] += v[r].w;
    if (args.bias != nullptr)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (column + e < args.n) x[e] += args.bias[column + e];
    finish_values(args.finish, x);
    store_values<float>(args.c + row * args.ldc, column, args.n, args.whole_c, x);
  }
}

template <class Math, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kThreadsOfBlock, 2) clusters(ClusterArgs args) {
  using Left = Operand<Math, kSide, kAlongA>;
  using Right = Operand<Math, kSide, kAlongB>;
  static_assert(Math::kSteps == kGroups && Math::kDepth == kClusterDepth);
  constexpr int kStage = Left::kElements + Right::kElements;
  extern __shared__ __align__(128) float shared[];  // stages, later the sums of the tile
  __shared__ Barrier full[kMaxClusterStages];       // a stage has come

  const unsigned tiles_m = static_cast<unsigned>((args.m + kSide - 1) / kSide);
  const unsigned tile = blockIdx.x / static_cast<unsigned>(args.blocks);
  const std::int64_t row0 = std::int64_t{tile % tiles_m} * kSide,
                     column0 = std::int64_t{tile / tiles_m} * kSide;
  const std::int64_t k0 = blockIdx.x % static_cast<unsigned>(args.blocks) * args.k_per_block,
                     k1 = min(args.k, k0 + args.k_per_block);
  const float* const a = args.a + (kAlongA ? row0 * args.lda + k0 : k0 * args.lda + row0);
  const float* const b = args.b + (kAlongB ? column0 * args.ldb + k0 : k0 * args.ldb + column0);
  const int steps = static_cast<int>((k1 - k0 + Math::kDepth - 1) / Math::kDepth);

  if (threadIdx.x == 0) {
    for (int i = 0; i < args.stages; ++i) init_barrier(full + i, kThreadsOfBlock);
    publish_barriers();
  }
  __syncthreads();
  const auto fetch = [&](int step, int slot) {
    float* const stage = shared + slot * kStage;
    const std::int64_t skip = std::int64_t{step} * Math::kDepth, k_left = k1 - k0 - skip;
    Left::template copy<kThreadsOfBlock>(stage, a + (kAlongA ? skip : skip * args.lda), args.lda,
                                         args.m - row0, k_left, args.whole_a);
    Right::template copy<kThreadsOfBlock>(stage + Left::kElements, b + (kAlongB ? skip : skip * args.ldb),
                                          args.ldb, args.n - column0, k_left, args.whole_b);
    arrive_after_copies(full + slot);
  };
#pragma unroll 1
  for (int step = 0; step < min(steps, args.stages); ++step) fetch(step, step);

  const int warp = static_cast<int>(threadIdx.x) / 32, group = warp / 4;
  const int slab_a = warp % 4 / 2 * 32, slab_b = warp % 2 * 32;
  Sums sum = {};
  int slot = 0;
  unsigned phase = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    wait_for(full + slot, phase);
    const float* const stage = shared + slot * kStage;
    Math::template multiply<1, 1, kSide, kSide, kAlongA, kAlongB>(sum, stage, slab_a, stage + Left::kElements,
                                                                  slab_b, group);
    if (step + args.stages < steps) {
      __syncthreads();  // nobody reads the stage any more
      fetch(step + args.stages, slot);
    }
    if (++slot == args.stages) slot = 0, phase ^= 1;
  }
  __syncthreads();  // the same of all stages
  if (group == 0) put<false>(sum, shared, slab_a, slab_b);
  __syncthreads();
  if (group == 1) put<true>(sum, shared, slab_a, slab_b);
  if (args.blocks == 1) {
    __syncthreads();
    return finish_tile(args, shared, row0, column0);
  }
  sync_cluster();
  finish_tile(args, shared, row0, column0);
  sync_cluster();  // nobody leaves while others read its shared memory
}

template <class Math>
auto kernel_of(const SmallLayout& layout) {
  return instance_of(layout, clusters<Math, false, false>, clusters<Math, false, true>,
                     clusters<Math, true, false>, clusters<Math, true, true>);
}

}  // namespace

void multiply_clusters(const SmallLayout& layout, const ClusterArgs& args, cudaStream_t stream) {
  const auto kernel = layout.exact ? kernel_of<Tf32x3>(layout) : kernel_of<Tf32>(layout);
  const int bytes = std::max(args.stages * 2 * kSide * kClusterDepth, kSide * kLine) * int{sizeof(float)};
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const std::int64_t tiles = (args.m + kSide - 1) / kSide * ((args.n + kSide - 1) / kSide);
  launch_in_clusters(kernel, {tiles * args.blocks, kThreadsOfBlock, bytes, args.blocks}, stream, args);
}

}  // namespace headroom::cuda
