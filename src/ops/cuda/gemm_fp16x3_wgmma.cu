// "cuda:fp16x3_wgmma": see gemm_wgmma.h. A stage holds hi and lo of both operands at 64 of k.

#include "ops/cuda/fp16x3_scale.cuh"
#include "ops/cuda/wgmma_pipe.cuh"

namespace headroom::cuda {
namespace {

constexpr int kColumns = kFp16x3WgmmaColumns;
constexpr int kPart = kWgmmaRows * static_cast<int>(kLineBytes);  // bytes of one part of one operand
static_assert(kColumns == kWgmmaRows);
// Products of hi hi that the tensor cores add up, in instructions of 16 of k. They cut their sums off, on
// all-positive data by 4.3e-9 of the result for each term (measured on an H200): with 32 terms that is less
// than a sum of fp32 errs by. The additions run while the small products of the same terms do.
constexpr unsigned kAtOnce = 2;

using TilePipe = Pipe<4 * kPart>;
using TileRing = Ring<TilePipe::kStages>;

template <bool kAcrossA, bool kAcrossB>
__device__ void copy_parts(const TilePipe& pipe, const CUtensorMap& a, const CUtensorMap& b,
                           const WgmmaArgs& args) {
  const int lo = static_cast<int>(args.k_of_parts);
  TileRing ring;
  for (unsigned i = blockIdx.x; i < args.order.tiles(); i += gridDim.x) {
    const TileOfBatch tile = tile_at<kColumns>(args, i);
    for (int step = 0; step < args.steps; ++step, ring.next()) {
      Barrier* const full = pipe.full + ring.stage;
      unsigned char* const stage = pipe.stage(ring.stage);
      const int k = 64 * step;
      wait_for(pipe.empty + ring.stage, ring.phase ^ 1);
      arrive_and_expect(full, 4 * kPart);
      copy_rows<kWgmmaRows, kAcrossA>(stage, a, full, tile.row, k, 0);
      copy_rows<kColumns, kAcrossB>(stage + 2 * kPart, b, full, tile.column, k, 0);
      copy_rows<kWgmmaRows, kAcrossA>(stage + kPart, a, full, tile.row, k + lo, 0);
      copy_rows<kColumns, kAcrossB>(stage + 3 * kPart, b, full, tile.column, k + lo, 0);
    }
  }
}

struct Factors {
  std::uint64_t a_hi, a_lo, b_hi, b_lo;  // descriptors
};

// kAtOnce instructions of hi hi from a fresh sum, then twice as many of the small products.
template <bool kAcrossA, bool kAcrossB>
__device__ inline void multiply_big(float (&big)[64], const Factors& f, unsigned first) {
#pragma unroll
  for (unsigned k = first; k < first + kAtOnce; ++k)
    multiply<Half, kColumns, kAcrossA, kAcrossB>(big, descriptor_at(f.a_hi, kAcrossA, k),
                                                 descriptor_at(f.b_hi, kAcrossB, k), k > first);
  commit_products();
}
template <bool kAcrossA, bool kAcrossB>
__device__ inline void multiply_small(float (&small)[64], const Factors& f, unsigned first, bool add) {
#pragma unroll
  for (unsigned k = first; k < first + kAtOnce; ++k) {
    multiply<Half, kColumns, kAcrossA, kAcrossB>(small, descriptor_at(f.a_lo, kAcrossA, k),
                                                 descriptor_at(f.b_hi, kAcrossB, k), add || k > first);
    multiply<Half, kColumns, kAcrossA, kAcrossB>(small, descriptor_at(f.a_hi, kAcrossA, k),
                                                 descriptor_at(f.b_lo, kAcrossB, k), true);
  }
  commit_products();
}

template <bool kAcrossA, bool kAcrossB>
__device__ void multiply_parts(const TilePipe& pipe, const WgmmaArgs& args) {
  const unsigned half = threadIdx.x / 128 - 1;
  const Unscale unscale(args.largest);
  TileRing ring;
  for (unsigned i = blockIdx.x; i < args.order.tiles(); i += gridDim.x) {
    float sum[64] = {}, big[64] = {}, small[64] = {};
    for (int step = 0; step < args.steps; ++step, ring.next()) {
      const unsigned a = shared_address(pipe.stage(ring.stage)) + half * kBlockBytes,
                     b = shared_address(pipe.stage(ring.stage)) + 2 * kPart;
      const Factors factors{matrix_descriptor(a, kAcrossA), matrix_descriptor(a + kPart, kAcrossA),
                            matrix_descriptor(b, kAcrossB), matrix_descriptor(b + kPart, kAcrossB)};
      wait_for(pipe.full + ring.stage, ring.phase);
#pragma unroll
      for (unsigned k = 0; k < kStepsOfK; k += kAtOnce) {
        fence_sums();
        multiply_big<kAcrossA, kAcrossB>(big, factors, k);
        if (k == 0 && step > 0) {
          wait_products<1>();  // the small products of the stage before
          pipe.release(ring.before());
        }
        fence_sums();
        multiply_small<kAcrossA, kAcrossB>(small, factors, k, step > 0 || k > 0);
        wait_products<1>();
        settle(big);
#pragma unroll
        for (int e = 0; e < 64; ++e) sum[e] += big[e];
      }
    }
    wait_products<0>();
    pipe.release(ring.before());
    settle(small);
#pragma unroll
    for (int e = 0; e < 64; ++e) sum[e] = unscale(sum[e] + small[e]);
    store_sums<float, kColumns>(args, tile_at<kColumns>(args, i), pipe.scratch_of_warp(), sum);
  }
}

template <bool kAcrossA, bool kAcrossB>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    fp16x3_tiles(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                 const __grid_constant__ WgmmaArgs args) {
  extern __shared__ unsigned char shared[];
  TilePipe pipe(shared);
  pipe.start();
  if (threadIdx.x < 128) {
    give_up_registers<kCopyRegisters>();
    if (threadIdx.x == 0) copy_parts<kAcrossA, kAcrossB>(pipe, a, b, args);
  } else {
    take_registers<kMultiplyRegisters>();
    multiply_parts<kAcrossA, kAcrossB>(pipe, args);
  }
}

}  // namespace

WgmmaKernel fp16x3_wgmma(bool across_a, bool across_b) {
  void (*const functions[4])(CUtensorMap, CUtensorMap, WgmmaArgs) = {
      fp16x3_tiles<false, false>, fp16x3_tiles<false, true>, fp16x3_tiles<true, false>,
      fp16x3_tiles<true, true>};
  return {functions[2 * across_a + across_b], TilePipe::kSharedBytes};
}

}  // namespace headroom::cuda
