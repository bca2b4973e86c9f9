#pragma once

// Where the rows of one head lie, for all kernels of this folder.

#include "ops/attention/cuda/launch.h"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {

template <class T>
struct HeadRows {
  T* at;
  std::int64_t step;  // from one time to the next
  __device__ T* row(std::int64_t t) const { return at + t * step; }
};

// part: 0 queries, 1 keys, 2 values.
template <class T>
__device__ inline HeadRows<T> part_of(const AttentionShape& s, T* qkv, std::int64_t head, int part) {
  const std::int64_t row = s.heads * s.width;
  return {qkv + head / s.heads * s.time * 3 * row + part * row + head % s.heads * s.width, 3 * row};
}
template <class T>
__device__ inline HeadRows<T> result_of(const AttentionShape& s, T* y, std::int64_t head) {
  const std::int64_t row = s.heads * s.width;
  return {y + head / s.heads * s.time * row + head % s.heads * s.width, row};
}

// What the gradient of scores is made from, whichever rows a block owns: those of queries (it makes dq) or
// those of keys (it makes dk and dv).
template <class T, bool kOwnsKeys>
struct GradientRows {
  HeadRows<const T> own, own_grad, other, other_grad;  // q and dy, k and v; or the other way round
  HeadRows<T> out, out_value;                          // dq; or dk and dv
};
template <class T, bool kOwnsKeys>
__device__ inline GradientRows<T, kOwnsKeys> gradient_rows(const AttentionShape& s, const T* qkv, const T* dy,
                                                           T* dqkv, std::int64_t head) {
  const HeadRows<const T> q = part_of(s, qkv, head, 0), k = part_of(s, qkv, head, 1),
                          v = part_of(s, qkv, head, 2), g = result_of(s, dy, head);
  if constexpr (kOwnsKeys)
    return {k, v, q, g, part_of(s, dqkv, head, 1), part_of(s, dqkv, head, 2)};
  else
    return {q, g, k, v, part_of(s, dqkv, head, 0), part_of(s, dqkv, head, 0)};
}

// The rows [begin, end) of the other kind that any of the owned rows [first, last] meets.
struct Span {
  std::int64_t begin, end;
};
__device__ inline Span other_rows(const AttentionShape& s, bool owns_keys, std::int64_t first,
                                  std::int64_t last) {
  if (!s.causal) return {0, s.time};
  if (owns_keys) return {first, s.time};
  return {0, last + 1 < s.time ? last + 1 : s.time};
}

// Does the row of time t see that of time u?
__device__ inline bool sees(const AttentionShape& s, std::int64_t t, std::int64_t u) {
  return t < s.time && u < s.time && (!s.causal || u <= t);
}

inline unsigned head_blocks(const AttentionShape& s, std::int64_t rows) {
  return static_cast<unsigned>(s.batch * s.heads * ((s.time + rows - 1) / rows));
}

// Which head and which rows a block has. Causal queries late in time have most to do, and so come first.
struct Place {
  std::int64_t head, first;
};
__device__ inline Place place_of(const AttentionShape& s, std::int64_t rows, bool late_first) {
  const std::int64_t tiles = (s.time + rows - 1) / rows, tile = std::int64_t{blockIdx.x} % tiles;
  return {std::int64_t{blockIdx.x} / tiles, (late_first ? tiles - 1 - tile : tile) * rows};
}

}  // namespace headroom::cuda
