#pragma once

#include "ops/cuda/gemm_skinny.cuh"

namespace headroom::cuda {

inline constexpr int kRowWarps = 4, kRowPacks = 4;

// kPack elements of a row from k on; what lies past the end is 0.
template <class T>
__device__ inline Pack<T> load_pack(const T* row, std::int64_t k, std::int64_t end, bool whole) {
  Pack<T> x{};
  if (whole) {
    if (k < end) x = *reinterpret_cast<const Pack<T>*>(row + k);
    return x;
  }
#pragma unroll
  for (int e = 0; e < kPack<T>; ++e)
    if (k + e < end) x.v[e] = row[k + e];
  return x;
}

// Both operands contiguous along k, many rows: a warp takes 4 and its lanes share k, 2 KB of every row at a
// time. All of that is asked for before any of it is used; the small operand waits in shared memory, for rows
// of it would come from the cache once for each warp.
template <class T, int kS>
__global__ void __launch_bounds__(32 * kRowWarps) many_rows(SkinnyArgs args) {
  using C = Compute<T>;
  constexpr int kV = kPack<T>, kValues = kSkinnyRows * kS, kDepth = 32 * kRowPacks * kV;
  __shared__ Pack<T> weights[kS][kRowPacks * 32];
  __shared__ C sums[kRowWarps][kValues];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row0 = (std::int64_t{blockIdx.x} * kRowWarps + warp) * kSkinnyRows;
  const auto columns = static_cast<int>(args.columns);
  const T* row[kSkinnyRows];  // rows past the end read the last one again; nobody stores their sums
#pragma unroll
  for (int r = 0; r < kSkinnyRows; ++r)
    row[r] = static_cast<const T*>(args.large) + min(row0 + r, args.rows - 1) * args.large_ld;

  C sum[kValues] = {};
  for (std::int64_t k0 = 0; k0 < args.k; k0 += kDepth) {
    Pack<T> x[kSkinnyRows][kRowPacks];
#pragma unroll
    for (int j = 0; j < kRowPacks; ++j)
#pragma unroll
      for (int r = 0; r < kSkinnyRows; ++r)
        x[r][j] = load_pack(row[r], k0 + (j * 32 + lane) * kV, args.k, args.whole);
    if (k0 > 0) __syncthreads();  // who still reads the columns before
#pragma unroll
    for (int s = 0; s < kS; ++s)
      if (s < columns)
#pragma unroll
        for (int j = 0; j < kRowPacks / kRowWarps; ++j) {
          const int at = j * 32 * kRowWarps + static_cast<int>(threadIdx.x);
          weights[s][at] = load_pack(static_cast<const T*>(args.small) + s * args.small_row, k0 + at * kV,
                                     args.k, args.whole);
        }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kRowPacks; ++j) {
      if (k0 + j * 32 * kV >= args.k) break;
#pragma unroll
      for (int s = 0; s < kS; ++s) {
        if (s >= columns) break;
        const Pack<T> y = weights[s][j * 32 + lane];
#pragma unroll
        for (int r = 0; r < kSkinnyRows; ++r)
#pragma unroll
          for (int e = 0; e < kV; ++e) sum[r * kS + s] += widen(x[r][j].v[e]) * widen(y.v[e]);
      }
    }
  }
  const int first = sum_over_lanes(sum);
  if (lane % 2 == 0)
#pragma unroll
    for (int i = 0; i < kValues / 16; ++i) sums[warp][first + i] = sum[i];
  __syncwarp();
#pragma unroll 1
  for (int i = lane; i < kValues; i += 32) store_skinny<T>(args, 0, row0 + i / kS, i % kS, sums[warp][i]);
}

}  // namespace headroom::cuda
