#include "ops/cuda/gemm_fp16x3.h"

#include "ops/cuda/finish.cuh"
#include "ops/cuda/fp16x3_scale.cuh"

namespace headroom::cuda {
namespace {

constexpr int kStored = 8;  // fp16 values of one store
constexpr unsigned kInfiniteBits = 0x7F800000;
// Blocks that find the largest value, for both operands: each ends with an atomic operation on one word.
constexpr std::int64_t kMaxBlocks = 1024;

using Floats = Pack<float>;

// Bits of floats without their sign are in the order of their values.
__device__ inline unsigned larger(unsigned largest, float x) {
  const unsigned bits = __float_as_uint(x) & 0x7FFFFFFF;
  return bits > largest && bits < kInfiniteBits ? bits : largest;
}

// Bound by one pass over both operands. Blocks below `blocks` are the first operand's.
__global__ void largest_of(Fp16x3Operands args, unsigned blocks, bool packs_a, bool packs_b) {
  __shared__ unsigned parts[kThreads / 32];
  const int which = blockIdx.x < blocks ? 0 : 1;
  const Fp16x3Operand& x = args.of[which];
  const std::int64_t begin = which == 0 ? blockIdx.x : blockIdx.x - blocks,
                     step = std::int64_t{which == 0 ? blocks : gridDim.x - blocks} * kThreads;
  const std::int64_t numel = x.rows * x.columns;
  unsigned largest = 0;
  std::int64_t i = begin * kThreads + threadIdx.x;
  if (which == 0 ? packs_a : packs_b) {
    constexpr int kAhead = 4;
    const Floats* from = reinterpret_cast<const Floats*>(x.from);
    const std::int64_t packs = numel / 4;
    for (; i < packs; i += kAhead * step) {
      Floats p[kAhead] = {};
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (i + u * step < packs) p[u] = from[i + u * step];
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
#pragma unroll
        for (int e = 0; e < 4; ++e) largest = larger(largest, p[u].v[e]);
    }
    if (begin == 0 && threadIdx.x < numel % 4) largest = larger(largest, x.from[packs * 4 + threadIdx.x]);
  } else {
    for (; i < numel; i += step) largest = larger(largest, x.from[i / x.columns * x.ld + i % x.columns]);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, largest, lanes);
    largest = other > largest ? other : largest;
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int w = 1; w < kThreads / 32; ++w) largest = parts[w] > largest ? parts[w] : largest;
  if (largest != 0) atomicMax(args.largest + which, largest);
}

// A thread takes 8 neighbours. Bound by memory: 4 bytes read and 4 written of each element.
__global__ void split_parts(Fp16x3Operands args, unsigned blocks, bool whole_a, bool whole_b) {
  const int which = blockIdx.x < blocks ? 0 : 1;
  const Fp16x3Operand& x = args.of[which];
  const std::int64_t i = std::int64_t{which == 0 ? blockIdx.x : blockIdx.x - blocks} * kThreads + threadIdx.x;
  const std::int64_t across = x.to_columns / kStored;
  if (i >= x.to_rows * across) return;
  const std::int64_t row = x.to_rows * across < 0x80000000LL
                               ? static_cast<unsigned>(i) / static_cast<unsigned>(across)
                               : i / across;
  const std::int64_t column = (i - row * across) * kStored;
  float v[kStored] = {};
  if (row < x.rows) {
    const float* from = x.from + row * x.ld + column;
    if ((which == 0 ? whole_a : whole_b) && column + kStored <= x.columns) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const Floats p = reinterpret_cast<const Floats*>(from)[h];
#pragma unroll
        for (int e = 0; e < 4; ++e) v[4 * h + e] = p.v[e];
      }
    } else {
#pragma unroll
      for (int e = 0; e < kStored; ++e)
        if (column + e < x.columns) v[e] = from[e];
    }
  }
  const float scale = power_of_two(scale_exponent(args.largest[which]));
  Pack<Half> hi, lo;
#pragma unroll
  for (int e = 0; e < kStored; ++e) {
    const float scaled = v[e] * scale;
    hi.v[e] = __float2half_rn(scaled);
    lo.v[e] = __float2half_rn(scaled - __half2float(hi.v[e]));  // of an infinity: NaN
  }
  Half* to = static_cast<Half*>(x.to) + row * x.to_ld + column;
  *reinterpret_cast<Pack<Half>*>(to + x.hi) = hi;
  *reinterpret_cast<Pack<Half>*>(to + x.lo) = lo;
}

// A thread takes 4 neighbours of a row. Bound by memory: reads every slab once.
template <bool kWhole>
__global__ void sum_slabs(Fp16x3Sums args) {
  const std::int64_t across = args.slab_ld / 4, packs = args.rows * across;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= packs) return;
  const std::int64_t row =
      packs < 0x80000000LL ? static_cast<unsigned>(i) / static_cast<unsigned>(across) : i / across;
  const std::int64_t column = (i - row * across) * 4;
  if (column >= args.n) return;
  const float* from = args.slabs + row * args.slab_ld + column;
  float x[4] = {};
#pragma unroll 4
  for (int s = 0; s < args.count; ++s) {
    const Floats piece = *reinterpret_cast<const Floats*>(from + s * args.slab);
#pragma unroll
    for (int e = 0; e < 4; ++e) x[e] += piece.v[e];
  }
  const Unscale unscale(args.largest);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    x[e] = unscale(x[e]);
    if (args.bias != nullptr && (kWhole || column + e < args.n)) x[e] += args.bias[column + e];
  }
  finish_values(args.finish, x);
  float* to = args.c + row * args.ldc + column;
  if constexpr (kWhole) {
    Floats y;
#pragma unroll
    for (int e = 0; e < 4; ++e) y.v[e] = x[e];
    *reinterpret_cast<Floats*>(to) = y;
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (column + e < args.n) to[e] = x[e];
  }
}

bool whole_rows(const Fp16x3Operand& x) { return x.ld % 4 == 0 && aligned(x.from); }

}  // namespace

void find_largest(const Fp16x3Operands& args, cudaStream_t stream) {
  const auto blocks_of = [](const Fp16x3Operand& x) {
    const std::int64_t wanted = blocks_for(x.rows * x.columns, 4 * 4 * kThreads);
    return static_cast<unsigned>(wanted < kMaxBlocks / 2 ? wanted : kMaxBlocks / 2);
  };
  const auto packs = [](const Fp16x3Operand& x) { return x.ld == x.columns && aligned(x.from); };
  const unsigned a = blocks_of(args.of[0]), b = blocks_of(args.of[1]);
  largest_of<<<a + b, kThreads, 0, stream>>>(args, a, packs(args.of[0]), packs(args.of[1]));
  HEADROOM_CUDA_LAUNCHED();
}

void split_fp16x3(const Fp16x3Operands& args, cudaStream_t stream) {
  const auto blocks_of = [](const Fp16x3Operand& x) {
    return blocks_for(x.to_rows * x.to_columns / kStored);
  };
  const unsigned a = blocks_of(args.of[0]), b = blocks_of(args.of[1]);
  split_parts<<<a + b, kThreads, 0, stream>>>(args, a, whole_rows(args.of[0]), whole_rows(args.of[1]));
  HEADROOM_CUDA_LAUNCHED();
}

void sum_fp16x3(const Fp16x3Sums& args, cudaStream_t stream) {
  const unsigned blocks = blocks_for(args.rows * (args.slab_ld / 4));
  if (args.n % 4 == 0 && args.ldc % 4 == 0 && aligned(args.c))
    sum_slabs<true><<<blocks, kThreads, 0, stream>>>(args);
  else
    sum_slabs<false><<<blocks, kThreads, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
