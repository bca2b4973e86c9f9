#pragma once

// Bound by reading the large operand, once, from memory or L2: ordinary multiply-adds are enough for up to 16
// columns, and small problems live on having one light launch. This file is for few and long rows, and what
// all of them share; gemm_skinny_rows.cuh for many rows, gemm_skinny_across.cuh for rows that lie across k.

#include "ops/cuda/block.cuh"
#include "ops/cuda/finish.cuh"
#include "ops/cuda/gemm_skinny.h"

namespace headroom::cuda {

inline constexpr int kSkinnyWarps = 8, kSkinnyRows = 4;

// Blocks that share a tile of the output among pieces of k count themselves here.
inline constexpr unsigned kSkinnyTiles = 1024;
static __device__ unsigned skinny_arrivals[kSkinnyTiles];

// The sum of an element, or one piece of it.
template <class T>
__device__ inline void finish_skinny(const SkinnyArgs& args, std::int64_t row, int column, Compute<T> x) {
  if (args.bias != nullptr) x += widen(static_cast<const T*>(args.bias)[args.bias_by_row ? row : column]);
  Compute<T> value[1] = {x};
  finish_values(args.finish, value);
  static_cast<T*>(args.c)[row * args.c_row + column * args.c_column] = narrow<T>(value[0]);
}

template <class T>
__device__ inline void store_skinny(const SkinnyArgs& args, int split, std::int64_t row, int column,
                                    Compute<T> x) {
  if (row >= args.rows || column >= args.columns) return;
  if (args.splits == 1) return finish_skinny<T>(args, row, column, x);
  static_cast<Compute<T>*>(
      args.partial)[split * args.rows * args.columns + row * args.c_row + column * args.c_column] = x;
}

// Pieces first, first + step, … of an element, in this order.
template <class T>
__device__ inline Compute<T> sum_pieces(const SkinnyArgs& args, std::int64_t row, int column, int first,
                                        int step) {
  Compute<T> sum = 0;
  if (row >= args.rows || column >= args.columns) return sum;
  const Compute<T>* from =
      static_cast<const Compute<T>*>(args.partial) + row * args.c_row + column * args.c_column;
#pragma unroll 8
  for (int s = first; s < args.splits; s += step) sum += __ldcg(from + s * args.rows * args.columns);
  return sum;
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

// Both operands contiguous along k and few rows: a block takes 4 of them, and its warps and their lanes share
// k.
template <class T, int kS>
__global__ void __launch_bounds__(32 * kSkinnyWarps) few_rows(SkinnyArgs args) {
  using C = Compute<T>;
  constexpr int kV = kPack<T>, kValues = kSkinnyRows * kS;
  __shared__ C others[kSkinnyWarps][kValues];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int split = static_cast<int>(blockIdx.y);
  const std::int64_t row0 = std::int64_t{blockIdx.x} * kSkinnyRows;
  const std::int64_t k0 = split * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const T* const small = static_cast<const T*>(args.small);
  const T* row[kSkinnyRows];  // rows past the end read the last one again; nobody stores their sums
#pragma unroll
  for (int r = 0; r < kSkinnyRows; ++r)
    row[r] = static_cast<const T*>(args.large) + min(row0 + r, args.rows - 1) * args.large_ld;

  C sum[kValues] = {};
#pragma unroll 2
  for (std::int64_t k = k0 + warp * 32 * kV; k < k1; k += 32 * kV * kSkinnyWarps) {
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
  const int value = static_cast<int>(threadIdx.x) % kValues, part = static_cast<int>(threadIdx.x) / kValues;
  const std::int64_t at = row0 + value / kS;
  C total = 0;
  if (part == 0) {
    for (int w = 0; w < kSkinnyWarps; ++w) total += others[w][value];
    store_skinny<T>(args, split, at, value % kS, total);
  }
  if (args.splits == 1 || !last_to_arrive(skinny_arrivals + blockIdx.x, gridDim.y)) return;
  // As many threads as there are share the pieces of a value.
  constexpr int kParts =
      32 * kSkinnyWarps / kValues < kSkinnyWarps ? 32 * kSkinnyWarps / kValues : kSkinnyWarps;
  if (part < kParts) others[part][value] = sum_pieces<T>(args, at, value % kS, part, kParts);
  __syncthreads();
  if (part != 0 || at >= args.rows || value % kS >= args.columns) return;
  total = others[0][value];
#pragma unroll
  for (int p = 1; p < kParts; ++p) total += others[p][value];
  finish_skinny<T>(args, at, value % kS, total);
}

inline std::int64_t tiles_of(std::int64_t rows, std::int64_t per_tile) {
  return (rows + per_tile - 1) / per_tile;
}

inline void do_not_split(SkinnyArgs& args) { args.splits = 1, args.k_per_split = args.k; }

// Calls f.operator()<T, kS>() for columns up to kS.
template <class F>
void dispatch_skinny(DType dtype, std::int64_t columns, F&& f) {
  dispatch_floats(dtype, [&]<class T>() {
    if (columns <= 4)
      f.template operator()<T, 4>();
    else if (columns <= 12)  // ten classes
      f.template operator()<T, 12>();
    else
      f.template operator()<T, 16>();
  });
}

}  // namespace headroom::cuda
