#pragma once

// "cuda:wgmma": see gemm_wgmma.h.

#include "ops/cuda/wgmma_pipe.cuh"

namespace headroom::cuda {

template <class T, int kN, bool kAcrossA, bool kAcrossB>
struct WgmmaTiles {
  static constexpr int kBytesA = kWgmmaRows * kLineBytes, kBytesB = kN * kLineBytes;
  static constexpr int kDepth = kLineBytes / sizeof(T);
  using TilePipe = Pipe<kBytesA + kBytesB>;
  using TileRing = Ring<TilePipe::kStages>;

  // One thread asks for the tiles of all steps, as far ahead as there are stages.
  __device__ static void copy(const TilePipe& pipe, const CUtensorMap& a, const CUtensorMap& b,
                              const WgmmaArgs& args) {
    TileRing ring;
    for (unsigned i = blockIdx.x; i < args.order.tiles() * args.batch; i += gridDim.x) {
      const TileOfBatch tile = tile_at<kN>(args, i);
      const int product_a = args.many_a ? static_cast<int>(tile.product) : 0,
                product_b = args.many_b ? static_cast<int>(tile.product) : 0;
      for (int step = 0; step < args.steps; ++step, ring.next()) {
        Barrier* const full = pipe.full + ring.stage;
        unsigned char* const stage = pipe.stage(ring.stage);
        wait_for(pipe.empty + ring.stage, ring.phase ^ 1);
        arrive_and_expect(full, kBytesA + kBytesB);
        copy_rows<kWgmmaRows, kAcrossA>(stage, a, full, tile.row, step * kDepth, product_a);
        copy_rows<kN, kAcrossB>(stage + kBytesA, b, full, tile.column, step * kDepth, product_b);
      }
    }
  }

  __device__ static void multiply_tiles(const TilePipe& pipe, const WgmmaArgs& args) {
    TileRing ring;
    for (unsigned i = blockIdx.x; i < args.order.tiles() * args.batch; i += gridDim.x) {
      float sum[kN / 2] = {};
      multiply_steps<T, kN, kAcrossA, kAcrossB>(pipe, ring, args.steps, kBytesA, sum);
      store_sums<T, kN>(args, tile_at<kN>(args, i), pipe.scratch_of_warp(), sum);
    }
  }
};

template <class T, int kN, bool kAcrossA, bool kAcrossB>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    wgmma_tiles(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                const __grid_constant__ WgmmaArgs args) {
  using Tiles = WgmmaTiles<T, kN, kAcrossA, kAcrossB>;
  extern __shared__ unsigned char shared[];
  typename Tiles::TilePipe pipe(shared);
  pipe.start();
  if (threadIdx.x < 128) {
    give_up_registers<kCopyRegisters>();
    if (threadIdx.x == 0) Tiles::copy(pipe, a, b, args);
  } else {
    take_registers<kMultiplyRegisters>();
    Tiles::multiply_tiles(pipe, args);
  }
}

template <class T, int kN, bool kAcrossA, bool kAcrossB>
WgmmaKernel wgmma_kernel() {
  return {wgmma_tiles<T, kN, kAcrossA, kAcrossB>,
          WgmmaTiles<T, kN, kAcrossA, kAcrossB>::TilePipe::kSharedBytes};
}

template <class T, int kN>
WgmmaKernel wgmma_kernel(bool across_a, bool across_b) {
  if (across_a) return across_b ? wgmma_kernel<T, kN, true, true>() : wgmma_kernel<T, kN, true, false>();
  return across_b ? wgmma_kernel<T, kN, false, true>() : wgmma_kernel<T, kN, false, false>();
}

}  // namespace headroom::cuda
