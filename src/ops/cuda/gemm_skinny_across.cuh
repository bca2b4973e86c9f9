#pragma once

#include "ops/cuda/gemm_skinny.cuh"

namespace headroom::cuda {

inline constexpr int kAcrossLanes = 8, kAcrossSlots = 32 * kSkinnyWarps / kAcrossLanes, kAcrossAtOnce = 8;
// Rows of the large operand that a thread takes, a tile of the output, and values of k whose part of the
// small operand is in shared memory.
template <class T>
inline constexpr int kAcrossRows = sizeof(T) == 8 ? 2 : 4;
template <class T>
inline constexpr int kAcrossTile = kAcrossLanes* kAcrossRows<T>;
template <class T>
inline constexpr int kAcrossDepth = sizeof(T) == 8 ? 256 : 512;

template <class T>
using AcrossRound = Pack<T, kAcrossRows<T>>[kAcrossAtOnce];

// A thread's pieces of kAcrossAtOnce values of k, all under way together.
template <class T>
__device__ inline void load_across(const SkinnyArgs& args, const T* from, std::int64_t left, int at,
                                   int depth, AcrossRound<T>& x) {
  constexpr int kN = kAcrossRows<T>;
#pragma unroll
  for (int u = 0; u < kAcrossAtOnce; ++u, at += kAcrossSlots) {
    x[u] = {};
    const T* row = from + at * args.large_ld;
    if (at >= depth || left <= 0) continue;
    if (args.whole)
      x[u] = *reinterpret_cast<const Pack<T, kN>*>(row);
    else
#pragma unroll
      for (int c = 0; c < kN; ++c)
        if (c < left) x[u].v[c] = row[c];
  }
}

// Lanes `offset` apart add up: each keeps a half of the kHalf * 2 values. Returns which one v[0] stands for.
template <int kHalf, class C, int V>
__device__ inline int keep_half(C (&v)[V], int offset) {
  const bool upper = (threadIdx.x & offset) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const C give = upper ? v[i] : v[i + kHalf], keep = upper ? v[i + kHalf] : v[i];
    v[i] = keep + __shfl_xor_sync(~0u, give, offset);
  }
  return upper ? kHalf : 0;
}

// The large operand contiguous along its rows, one k after the other: 8 threads take a tile of rows, and the
// 32 such groups of a block a share of k each. Tiles are narrow, so that the blocks which share k leave
// little to be added up by the last of them.
template <class T, int kS>
__global__ void __launch_bounds__(32 * kSkinnyWarps) across_k(SkinnyArgs args) {
  using C = Compute<T>;
  constexpr int kN = kAcrossRows<T>, kBlock = 32 * kSkinnyWarps, kValues = kS * kN, kTile = kAcrossTile<T>,
                kDepth = kAcrossDepth<T>;
  static_assert(kDepth * kS >= kSkinnyWarps * kValues * kAcrossLanes && kValues % 4 == 0);
  __shared__ __align__(16) C place[kDepth * kS];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % kAcrossLanes,
            slot = thread / kAcrossLanes, split = static_cast<int>(blockIdx.y);
  const std::int64_t k0 = split * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const std::int64_t row0 = std::int64_t{blockIdx.x} * kTile, mine = row0 + lane * kN;
  const T* const small = static_cast<const T*>(args.small);
  const bool by_k = args.small_k == 1;

  C sum[kValues] = {};
  for (std::int64_t start = k0; start < k1; start += kDepth) {
    const int depth = static_cast<int>(min(std::int64_t{kDepth}, k1 - start));
    const T* const from = static_cast<const T*>(args.large) + start * args.large_ld + mine;
    AcrossRound<T> x;
    load_across(args, from, args.rows - mine, slot, depth, x);
    if (start > k0) __syncthreads();  // who still reads what is there
    for (int i = thread; i < (by_k ? kDepth : depth) * kS; i += kBlock) {
      const int k = by_k ? i % kDepth : i / kS, s = by_k ? i / kDepth : i % kS;
      if (k < depth)
        place[k * kS + s] =
            s < args.columns ? C{widen(small[s * args.small_row + (start + k) * args.small_k])} : C{0};
    }
    __syncthreads();
    for (int base = slot; base < depth; base += kAcrossAtOnce * kAcrossSlots) {
      if (base > slot) load_across(args, from, args.rows - mine, base, depth, x);
#pragma unroll
      for (int u = 0; u < kAcrossAtOnce; ++u) {
        const int at = base + u * kAcrossSlots;
        if (at >= depth) break;
#pragma unroll
        for (int s = 0; s < kS; ++s) {
          const C y = place[at * kS + s];
#pragma unroll
          for (int c = 0; c < kN; ++c) sum[s * kN + c] += y * widen(x[u].v[c]);
        }
      }
    }
  }
  // The four groups of a warp, then the warps.
  int first = keep_half<kValues / 2>(sum, 16);
  first += keep_half<kValues / 4>(sum, 8);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) place[(warp * kValues + first + i) * kAcrossLanes + lane] = sum[i];
  __syncthreads();
  for (int i = thread; i < kTile * kS; i += kBlock) {
    const int row = i % kTile, column = i / kTile, value = column * kN + row % kN;
    C total = 0;
#pragma unroll
    for (int w = 0; w < kSkinnyWarps; ++w) total += place[(w * kValues + value) * kAcrossLanes + row / kN];
    store_skinny<T>(args, split, row0 + row, column, total);
  }
  if (args.splits == 1 || !last_to_arrive(skinny_arrivals + blockIdx.x, gridDim.y)) return;
  for (int i = thread; i < kTile * kS; i += kBlock) {
    const std::int64_t row = row0 + i % kTile;
    const int column = i / kTile;
    if (row < args.rows && column < args.columns)
      finish_skinny<T>(args, row, column, sum_pieces<T>(args, row, column, 0, 1));
  }
}

}  // namespace headroom::cuda
