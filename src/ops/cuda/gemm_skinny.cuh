#pragma once

// Bound by reading the large operand, once, from memory or L2: ordinary multiply-adds are enough for up to 16
// columns, and small problems live on having one or two light launches.

#include "ops/cuda/finish.cuh"
#include "ops/cuda/gemm_skinny.h"

namespace headroom::cuda {

inline constexpr int kSkinnyWarps = 8, kSkinnyRows = 4, kSkinnyDepth = 256;
// Rows of the large operand that a lane takes where it is contiguous along them.
template <class T>
inline constexpr int kSkinnyLane = sizeof(T) == 8 ? 2 : 4;

template <class T>
__device__ inline void store_skinny(const SkinnyArgs& args, int split, std::int64_t row, int column,
                                    Compute<T> x) {
  if (row >= args.rows || column >= args.columns) return;
  const std::int64_t at = row * args.c_row + column * args.c_column;
  if (args.splits > 1) {
    static_cast<Compute<T>*>(args.partial)[split * args.rows * args.columns + at] = x;
    return;
  }
  if (args.bias != nullptr) x += widen(static_cast<const T*>(args.bias)[args.bias_by_row ? row : column]);
  Compute<T> value[1] = {x};
  finish_values(args.finish, value);
  static_cast<T*>(args.c)[at] = narrow<T>(value[0]);
}

// Lanes kOffset apart give each other the half of their 2 kHalf values that they do not keep; then on to the
// next offset, down to 2. Returns which value v[0] stands for.
template <int kHalf, int kOffset, class C, int V>
__device__ inline int exchange(C (&v)[V]) {
  const bool upper = (threadIdx.x & kOffset) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const C give = upper ? v[i] : v[i + kHalf], keep = upper ? v[i + kHalf] : v[i];
    v[i] = keep + __shfl_xor_sync(0xFFFFFFFFu, give, kOffset);
  }
  const int first = upper ? kHalf : 0;
  if constexpr (kOffset > 2)
    return first + exchange<kHalf / 2, kOffset / 2>(v);
  else
    return first;
}

// V values summed over the lanes by about V exchanges instead of 5 V. Value first + i ends in v[i] of a pair
// of lanes, i < V / 16.
template <int V, class C>
__device__ inline int sum_over_lanes(C (&v)[V]) {
  static_assert(V % 16 == 0);
  const int first = exchange<V / 2, 16>(v);
#pragma unroll
  for (int i = 0; i < V / 16; ++i) v[i] += __shfl_xor_sync(0xFFFFFFFFu, v[i], 1);
  return first;
}

// kV elements of a row for this lane: neighbours by one load where that is allowed, else 32 apart.
template <class T, int kV>
__device__ inline void load_lane(T (&v)[kV], const T* row, std::int64_t k, std::int64_t k1, bool whole) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (whole) {
    Pack<T, kV> x{};
    if (k + lane * kV < k1) x = *reinterpret_cast<const Pack<T, kV>*>(row + k + lane * kV);
#pragma unroll
    for (int e = 0; e < kV; ++e) v[e] = x.v[e];
  } else {
#pragma unroll
    for (int e = 0; e < kV; ++e) v[e] = k + e * 32 + lane < k1 ? row[k + e * 32 + lane] : T{};
  }
}

// Both operands contiguous along k: a warp takes 4 rows, its lanes share k. Where there are few rows, the 8
// warps of a block share k as well.
template <class T, int kS>
__global__ void __launch_bounds__(32 * kSkinnyWarps) skinny_along(SkinnyArgs args) {
  using C = Compute<T>;
  constexpr int kV = kPack<T>, kValues = kSkinnyRows * kS;
  __shared__ C others[kSkinnyWarps][kValues];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int split = static_cast<int>(blockIdx.y);
  const bool shared_k = args.warps_along_k > 1;
  const std::int64_t row0 =
      (std::int64_t{blockIdx.x} * (shared_k ? 1 : kSkinnyWarps) + (shared_k ? 0 : warp)) * kSkinnyRows;
  const std::int64_t k0 = split * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const T* const small = static_cast<const T*>(args.small);
  const T* row[kSkinnyRows];  // rows past the end read the last one again; nobody stores their sums
#pragma unroll
  for (int r = 0; r < kSkinnyRows; ++r)
    row[r] = static_cast<const T*>(args.large) + min(row0 + r, args.rows - 1) * args.large_ld;

  C sum[kValues] = {};
  const std::int64_t step = 32 * kV * (shared_k ? kSkinnyWarps : 1);
#pragma unroll 2
  for (std::int64_t k = k0 + (shared_k ? warp * 32 * kV : 0); k < k1; k += step) {
    T x[kSkinnyRows][kV];
#pragma unroll
    for (int r = 0; r < kSkinnyRows; ++r) load_lane(x[r], row[r], k, k1, args.whole);
#pragma unroll
    for (int s = 0; s < kS; ++s) {
      // Columns past the end repeat the last one, too: a branch here would keep the loads from being issued
      // together.
      T y[kV];
      load_lane(y, small + min(std::int64_t{s}, args.columns - 1) * args.small_row, k, k1, args.whole);
#pragma unroll
      for (int r = 0; r < kSkinnyRows; ++r)
#pragma unroll
        for (int e = 0; e < kV; ++e) sum[r * kS + s] += widen(x[r][e]) * widen(y[e]);
    }
  }
  const int first = sum_over_lanes(sum);
  if (lane % 2 == 0)
#pragma unroll
    for (int i = 0; i < kValues / 16; ++i) others[warp][first + i] = sum[i];
  __syncthreads();
  // Sums of warps that shared k are added up, others stored as they are.
  const int values = shared_k ? kValues : kValues * kSkinnyWarps;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < values; i += 32 * kSkinnyWarps) {
    C total = others[i / kValues][i % kValues];
    if (shared_k)
      for (int w = 1; w < kSkinnyWarps; ++w) total += others[w][i];
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kSkinnyRows * (shared_k ? 1 : kSkinnyWarps);
    store_skinny<T>(args, split, first_row + i / kS, i % kS, total);
  }
}

// The large operand contiguous along its rows, one k after the other: a lane keeps the sums of a few rows,
// the warps of a block share k, and the small operand waits in shared memory.
template <class T, int kS>
__global__ void __launch_bounds__(32 * kSkinnyWarps) skinny_across(SkinnyArgs args) {
  using C = Compute<T>;
  constexpr int kN = kSkinnyLane<T>, kBlock = 32 * kSkinnyWarps, kInFlight = 4;
  constexpr int kHalf = kSkinnyWarps / 2 * kS * 32 * kN;
  __shared__ __align__(16) C place[kHalf > kSkinnyDepth * kS ? kHalf : kSkinnyDepth * kS];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int split = static_cast<int>(blockIdx.y);
  const std::int64_t k0 = split * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const std::int64_t row0 = (std::int64_t{blockIdx.x} * 32 + lane) * kN;
  const T* const large = static_cast<const T*>(args.large);
  const T* const small = static_cast<const T*>(args.small);
  const bool by_k = args.small_k == 1;

  C sum[kS][kN] = {};
  for (std::int64_t start = k0; start < k1; start += kSkinnyDepth) {
    const int depth = static_cast<int>(min(std::int64_t{kSkinnyDepth}, k1 - start));
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < kSkinnyDepth * kS; i += kBlock) {
      const int k = by_k ? i % kSkinnyDepth : i / kS, s = by_k ? i / kSkinnyDepth : i % kS;
      const bool inside = k < depth && s < args.columns;
      place[k * kS + s] = inside ? C{widen(small[s * args.small_row + (start + k) * args.small_k])} : C{0};
    }
    __syncthreads();
    for (int k = warp; k < depth; k += kInFlight * kSkinnyWarps) {
      T x[kInFlight][kN];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const int at = k + u * kSkinnyWarps;
        const T* from = large + (start + at) * args.large_ld + row0;
        Pack<T, kN> pack{};
        if (at < depth && args.whole && row0 < args.rows) pack = *reinterpret_cast<const Pack<T, kN>*>(from);
        if (at < depth && !args.whole)
#pragma unroll
          for (int c = 0; c < kN; ++c)
            if (row0 + c < args.rows) pack.v[c] = from[c];
#pragma unroll
        for (int c = 0; c < kN; ++c) x[u][c] = pack.v[c];
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const int at = min(k + u * kSkinnyWarps, depth - 1);  // past the end x is 0
#pragma unroll
        for (int s = 0; s < kS; ++s) {
          const C y = place[at * kS + s];
#pragma unroll
          for (int c = 0; c < kN; ++c) sum[s][c] += y * widen(x[u][c]);
        }
      }
    }
  }
#pragma unroll
  for (int warps = kSkinnyWarps / 2; warps >= 1; warps /= 2) {
    __syncthreads();
    if (warp >= warps && warp < 2 * warps)
#pragma unroll
      for (int i = 0; i < kS * kN; ++i)
        place[((warp - warps) * kS * kN + i) * 32 + lane] = sum[i / kN][i % kN];
    __syncthreads();
    if (warp < warps)
#pragma unroll
      for (int i = 0; i < kS * kN; ++i) sum[i / kN][i % kN] += place[(warp * kS * kN + i) * 32 + lane];
  }
  __syncthreads();
  if (warp == 0)
#pragma unroll
    for (int i = 0; i < kS * kN; ++i) place[i / kN * 32 * kN + lane * kN + i % kN] = sum[i / kN][i % kN];
  __syncthreads();
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kS * 32 * kN; i += kBlock)
    store_skinny<T>(args, split, std::int64_t{blockIdx.x} * 32 * kN + i % (32 * kN), i / (32 * kN), place[i]);
}

}  // namespace headroom::cuda
