#pragma once

// Walking a matrix of places x channels by packs of 16 bytes: see ops/rows_split.h.

#include "ops/cuda/types.cuh"
#include "ops/rows_split.h"

namespace headroom::cuda {

// One thread's packs: column `pack`, rows chunk by chunk.
struct RowsMine {
  int pack, line;
  bool there;
  __device__ explicit RowsMine(const RowsSplit& s)
      : pack(static_cast<int>(blockIdx.x) * s.tile + static_cast<int>(threadIdx.x) % s.tile),
        line(static_cast<int>(threadIdx.x) / s.tile),
        there(line < s.lines && pack < s.packs) {}
};

// Calls load(u, place of the pack) for up to RowsSplit::kDeep rows, then use(u, place); chunks of this block
// in turn.
template <class Load, class Use>
__device__ inline void sweep_rows(const RowsSplit& s, const RowsMine& mine, bool backwards, Load&& load,
                                  Use&& use) {
  if (!mine.there) return;
  for (std::int64_t k = blockIdx.y; k < s.chunks; k += gridDim.y) {
    const std::int64_t chunk = backwards ? s.chunks - 1 - k : k;
    const std::int64_t row = chunk * s.lines * RowsSplit::kDeep + mine.line;
#pragma unroll
    for (int u = 0; u < RowsSplit::kDeep; ++u)
      if (row + u * s.lines < s.rows) load(u, (row + u * s.lines) * s.packs + mine.pack);
#pragma unroll
    for (int u = 0; u < RowsSplit::kDeep; ++u)
      if (row + u * s.lines < s.rows) use(u, (row + u * s.lines) * s.packs + mine.pack);
  }
}

template <class T>
__device__ inline Pack<T> pack_at(const void* tensor, std::int64_t pack) {
  return static_cast<const Pack<T>*>(tensor)[pack];
}

}  // namespace headroom::cuda
