#include "ops/cuda/gemm_slices.h"

#include "ops/cuda/finish.cuh"
#include "ops/cuda/mma.cuh"
#include "ops/cuda/store_values.cuh"

namespace headroom::cuda {
namespace {

constexpr int kSide = kSliceTile;  // rows and columns of a block
constexpr int kLine = kSide + 8;   // of its sums: fragments are stored without conflicts
constexpr int kDepth = 16;         // k of one step
constexpr int kRows16 = kSide / 16, kColumns8 = kSide / 8;
constexpr int kMaxWarps = kMaxSliceWarps;

// One operand at one step. Lane (g, t) = (lane / 4, lane % 4) holds four neighbours in k, 4 t to 4 t + 3, of
// the sides 8 i + g. A product of 8 of k takes two of them: its k t and t + 4 are 4 t + 2 s and 4 t + 2 s + 1
// here, of both operands, and the order of terms is free.
struct Piece {
  float v[kSide / 8][4];
};

// Sides past the end read the last one again: nobody stores their sums. Past the end of k there are zeros.
template <bool kAlong>
__device__ inline void load(Piece& piece, const float* from, std::int64_t ld, std::int64_t side,
                            std::int64_t sides, std::int64_t k, std::int64_t end, bool whole) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  k += lane % 4 * 4;
#pragma unroll
  for (int i = 0; i < kSide / 8; ++i) {
    const std::int64_t at = min(side + 8 * i + lane / 4, sides - 1);
    if constexpr (kAlong) {
      const float* const row = from + at * ld + k;
      if (whole && k + 4 <= end) {
        const float4 x = *reinterpret_cast<const float4*>(row);
        piece.v[i][0] = x.x, piece.v[i][1] = x.y, piece.v[i][2] = x.z, piece.v[i][3] = x.w;
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) piece.v[i][e] = k + e < end ? row[e] : 0;
      }
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) piece.v[i][e] = k + e < end ? from[(k + e) * ld + at] : 0;
    }
  }
}

using Sums = float[kRows16][kColumns8][4];

// Sums of a step begin anew and are added up by ordinary additions: tensor cores cut theirs off.
template <bool kExact>
__device__ inline void multiply(Sums& sum, const Piece& a, const Piece& b) {
#pragma unroll
  for (int i = 0; i < kRows16; ++i) {
    unsigned a_hi[2][4], a_lo[2][4];
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int q = 0; q < 4; ++q) {  // rows g and g + 8, then the next k
        const SplitTf32 x = split_tf32(a.v[2 * i + q % 2][2 * s + q / 2]);
        a_hi[s][q] = x.hi, a_lo[s][q] = x.lo;
      }
#pragma unroll
    for (int j = 0; j < kColumns8; ++j) {
      float fresh[4] = {};
      unsigned b_hi[2][2], b_lo[2][2];
#pragma unroll
      for (int s = 0; s < 2; ++s)
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const SplitTf32 x = split_tf32(b.v[j][2 * s + q]);
          b_hi[s][q] = x.hi, b_lo[s][q] = x.lo;
        }
      if constexpr (kExact) {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          mma_tf32(fresh, a_lo[s], b_hi[s]);
          mma_tf32(fresh, a_hi[s], b_lo[s]);
        }
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) mma_tf32(fresh, a_hi[s], b_hi[s]);
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[i][j][e] += fresh[e];
    }
  }
}

__device__ inline void leave(const Sums& sum, float* to) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int j = 0; j < kColumns8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(to + (16 * i + 8 * half + g) * kLine + 8 * j + 2 * t) =
            make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
}

template <bool kAlongA, bool kAlongB, bool kExact>
__global__ void __launch_bounds__(32 * kMaxWarps, 1) slices(SliceArgs args) {
  extern __shared__ __align__(16) float sums[];  // [warps][kSide][kLine]
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const std::int64_t row0 = std::int64_t{blockIdx.y} * kSide, column0 = std::int64_t{blockIdx.x} * kSide;
  const std::int64_t k0 = warp * args.k_per_warp, end = min(args.k, k0 + args.k_per_warp);
  Sums sum = {};
  Piece a[2], b[2];
  const auto ask = [&](int which, std::int64_t k) {
    load<kAlongA>(a[which], args.a, args.lda, row0, args.m, k, end, args.whole_a);
    load<kAlongB>(b[which], args.b, args.ldb, column0, args.n, k, end, args.whole_b);
  };
  if (k0 < end) ask(0, k0);
#pragma unroll 1
  for (std::int64_t k = k0; k < end; k += 2 * kDepth) {
    if (k + kDepth < end) ask(1, k + kDepth);
    multiply<kExact>(sum, a[0], b[0]);
    if (k + kDepth >= end) break;
    if (k + 2 * kDepth < end) ask(0, k + 2 * kDepth);
    multiply<kExact>(sum, a[1], b[1]);
  }
  leave(sum, sums + warp * kSide * kLine);
  __syncthreads();
  constexpr int kPieces = kSide / 4;
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kPieces; i += static_cast<int>(blockDim.x)) {
    const int row = i / kPieces, from = i % kPieces * 4;
    const std::int64_t column = column0 + from;
    if (row0 + row >= args.m || column >= args.n) continue;
    float x[4] = {};
    for (int w = 0; w < warps; ++w) {  // in the order of k
      const float4 v = *reinterpret_cast<const float4*>(sums + (w * kSide + row) * kLine + from);
      x[0] += v.x, x[1] += v.y, x[2] += v.z, x[3] += v.w;
    }
    if (args.bias != nullptr)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (column + e < args.n) x[e] += args.bias[column + e];
    finish_values(args.finish, x);
    store_values<float>(args.c + (row0 + row) * args.ldc, column, args.n, args.whole_c, x);
  }
}

template <bool kExact>
auto kernel_for(const SmallLayout& layout) {
  return instance_of(layout, slices<false, false, kExact>, slices<false, true, kExact>,
                     slices<true, false, kExact>, slices<true, true, kExact>);
}

}  // namespace

void multiply_slices(const SmallLayout& layout, int warps, const SliceArgs& args, cudaStream_t stream) {
  const auto kernel = layout.exact ? kernel_for<true>(layout) : kernel_for<false>(layout);
  const int bytes = warps * kSide * kLine * static_cast<int>(sizeof(float));
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid(static_cast<unsigned>((args.n + kSide - 1) / kSide),
                  static_cast<unsigned>((args.m + kSide - 1) / kSide));
  kernel<<<grid, static_cast<unsigned>(32 * warps), static_cast<std::size_t>(bytes), stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
