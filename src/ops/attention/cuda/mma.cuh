#pragma once

// Attention on tensor cores, after FlashAttention-2: a block of four warps owns 64 rows, 16 to a warp, and
// walks over tiles of the others, the next one being copied while this one is computed. Scores live and die
// in registers. The gradient is two launches, one that owns queries and makes dq, one that owns keys and
// makes dk and dv; each computes the scores anew (seven products instead of five), so that no two blocks add
// to one place and the bits are always the same.

#include <cstring>

#include "ops/attention/cuda/fragments.cuh"
#include "ops/attention/cuda/head.cuh"
#include "ops/attention/cuda/sizes.h"
#include "ops/cuda/block.cuh"

namespace headroom::cuda {

// By element type, each in a file of its own. fp32 is computed in tf32.
void attention_mma_f16(const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
void attention_mma_bf16(const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
void attention_mma_tf32(const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);

inline constexpr int kMmaThreads = 128, kOwnRows = attention::MmaSizes::kOwn;
inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

template <class F, int kDepth, bool kBackward>
struct MmaTile {
  using Element = typename F::Element;
  using Stored = typename F::Stored;
  static constexpr attention::MmaSizes kSizes =
      attention::mma_sizes(kDepth, static_cast<int>(sizeof(Element)), kBackward);
  static constexpr int kPitch = attention::mma_pitch(kDepth, static_cast<int>(sizeof(Element)));
  static constexpr int kLoop = kSizes.loop, kOwnTile = kOwnRows * kPitch, kLoopTile = kLoop * kPitch;

  // Rows first .. first + kRows, zeros beyond the last and beyond the width. `wide`: every row begins at a
  // multiple of 16 bytes and is one long.
  template <int kRows>
  __device__ static void load(const AttentionShape& s, HeadRows<const Stored> rows, std::int64_t first,
                              bool wide, Element* to) {
    constexpr int kPer = 16 / static_cast<int>(sizeof(Element)), kPacks = kDepth / kPer;
    if (wide) {
      for (int i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += kMmaThreads) {
        const int r = i / kPacks, d = i % kPacks * kPer;
        const bool there = first + r < s.time && d < s.width;
        const Stored* from = there ? rows.row(first + r) + d : rows.at;
        Element* at = to + r * kPitch + d;
        if constexpr (sizeof(Element) == 2) {
          copy_async<16>(at, from, there ? 16 : 0);
        } else {
          Pack<Stored> pack = {};
          if (there) pack = *reinterpret_cast<const Pack<Stored>*>(from);
#pragma unroll
          for (int k = 0; k < kPer; ++k) pack.v[k] = F::prepared(pack.v[k]);
          *reinterpret_cast<Pack<Element>*>(at) = pack;
        }
      }
      return;
    }
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kDepth; i += kMmaThreads) {
      const int r = i / kDepth, d = i % kDepth;
      const bool there = first + r < s.time && d < s.width;
      to[r * kPitch + d] = there ? F::prepared(rows.row(first + r)[d]) : narrow<Element>(0.0f);
    }
  }

  // 16 own rows, from `row`, against 16 rows of the others, from `other`.
  __device__ static void scores(float (&c)[2][4], const Element* own, int row, const Element* others,
                                int other) {
#pragma unroll
    for (int k = 0; k < kDepth; k += F::kStep) {
      typename F::Left left;
      F::load_left(left, own, kPitch, row, k);
      F::by_rows(c, left, others, kPitch, other, k);
    }
  }

  // result (16 x kDepth) += weights (16 x 16) times rows other .. other + 15.
  __device__ static void add(float (&result)[kDepth / 16][2][4], const float (&c)[2][4],
                             const Element* others, int other) {
    const typename F::Weights weights = F::weights(c);
#pragma unroll
    for (int n = 0; n < kDepth / 16; ++n) F::by_columns(result[n], weights, others, kPitch, other, 16 * n);
  }

  // Of a thread's results: the rows lane / 4 and eight further, two columns at a time.
  __device__ static void store(const AttentionShape& s, HeadRows<Stored> rows, std::int64_t first, bool wide,
                               const float (&result)[kDepth / 16][2][4], const float (&factor)[2]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t t = first + lane / 4 + 8 * half;
      if (t >= s.time) continue;
      Stored* to = rows.row(t);
#pragma unroll
      for (int n = 0; n < kDepth / 8; ++n) {
        const int d = 8 * n + lane % 4 * 2;
        const float(&c)[4] = result[n / 2][n % 2];
        Pack<Stored, 2> two;
        two.v[0] = narrow<Stored>(c[2 * half] * factor[half]);
        two.v[1] = narrow<Stored>(c[2 * half + 1] * factor[half]);
        if (wide && d < s.width) {
          *reinterpret_cast<Pack<Stored, 2>*>(to + d) = two;
        } else {
          if (d < s.width) to[d] = two.v[0];
          if (d + 1 < s.width) to[d + 1] = two.v[1];
        }
      }
    }
  }
};

template <class F, int kDepth>
__global__ __launch_bounds__(kMmaThreads) void attention_forward(AttentionShape s, bool wide,
                                                                 const typename F::Stored* qkv,
                                                                 typename F::Stored* y, float* lse) {
  using Tile = MmaTile<F, kDepth, false>;
  using Element = typename F::Element;
  constexpr int kLoop = Tile::kLoop;
  extern __shared__ __align__(16) unsigned char memory[];
  Element *own = reinterpret_cast<Element*>(memory), *loop = own + Tile::kOwnTile;
  const int lane = static_cast<int>(threadIdx.x) % 32, row = static_cast<int>(threadIdx.x) / 32 * 16;
  const Place at = place_of(s, kOwnRows, s.causal);
  const HeadRows<const typename F::Stored> keys = part_of(s, qkv, at.head, 1),
                                           values = part_of(s, qkv, at.head, 2);
  const Span span = other_rows(s, false, at.first, at.first + kOwnRows - 1);
  auto fetch = [&](std::int64_t u, int buffer) {
    Tile::template load<kLoop>(s, keys, u, wide, loop + 2 * buffer * Tile::kLoopTile);
    Tile::template load<kLoop>(s, values, u, wide, loop + (2 * buffer + 1) * Tile::kLoopTile);
    commit_copies();
  };
  Tile::template load<kOwnRows>(s, part_of(s, qkv, at.head, 0), at.first, wide, own);
  fetch(0, 0);

  const float factor = static_cast<float>(s.scale) * kLog2E;  // powers of 2 instead of e
  float result[kDepth / 16][2][4] = {}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  int buffer = 0;
  for (std::int64_t u = 0; u < span.end; u += kLoop, buffer ^= 1) {
    const bool more = u + kLoop < span.end;
    if (more) fetch(u + kLoop, buffer ^ 1);
    more ? wait_copies<1>() : wait_copies<0>();
    __syncthreads();
    const Element *k = loop + 2 * buffer * Tile::kLoopTile, *v = k + Tile::kLoopTile;
    float c[kLoop / 16][2][4] = {};
#pragma unroll
    for (int n = 0; n < kLoop / 16; ++n) Tile::scores(c[n], own, row, k, 16 * n);
    const bool masked = u + kLoop > s.time || (s.causal && u + kLoop - 1 > at.first + row);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Rows beyond the last are taken for it: nothing becomes NaN, and nothing of theirs is stored.
      const std::int64_t mine = at.first + row + lane / 4 + 8 * half, t = mine < s.time ? mine : s.time - 1;
      float top = -INFINITY;
#pragma unroll
      for (int n = 0; n < kLoop / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = c[n / 2][n % 2][2 * half + e];
          x = masked && !sees(s, t, u + 8 * n + lane % 4 * 2 + e) ? -INFINITY : x * factor;
          top = x > top ? x : top;
        }
      top = warp_max(top, 4);
      const float now = top > most[half] ? top : most[half], keep = exp2f(most[half] - now);
      float part = 0;
#pragma unroll
      for (int n = 0; n < kLoop / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = c[n / 2][n % 2][2 * half + e];
          part += x = exp2f(x - now);
        }
      sum[half] = sum[half] * keep + part;  // of this thread's columns: added up at the end
      most[half] = now;
#pragma unroll
      for (int n = 0; n < kDepth / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) result[n / 2][n % 2][2 * half + e] *= keep;
    }
#pragma unroll
    for (int n = 0; n < kLoop / 16; ++n) Tile::add(result, c[n], v, 16 * n);
    __syncthreads();  // this buffer is filled again next
  }
  float share[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = warp_sum(sum[half], 4);
    const std::int64_t t = at.first + row + lane / 4 + 8 * half;
    if (lane % 4 == 0 && t < s.time) lse[at.head * s.time + t] = (most[half] + log2f(total)) * kLn2;
    share[half] = 1 / total;
  }
  Tile::store(s, result_of(s, y, at.head), at.first + row, wide, result, share);
}

template <class F, int kDepth, bool kOwnsKeys>
__global__ __launch_bounds__(kMmaThreads) void attention_backward(AttentionShape s, bool wide,
                                                                  const typename F::Stored* qkv,
                                                                  const typename F::Stored* dy,
                                                                  const float* lse, const float* along,
                                                                  typename F::Stored* dqkv) {
  using Tile = MmaTile<F, kDepth, true>;
  using Element = typename F::Element;
  using Stored = typename F::Stored;
  constexpr int kLoop = Tile::kLoop;
  extern __shared__ __align__(16) unsigned char memory[];
  Element *own = reinterpret_cast<Element*>(memory), *own_grad = own + Tile::kOwnTile,
          *loop = own_grad + Tile::kOwnTile;
  float* statistics = reinterpret_cast<float*>(loop + 4 * Tile::kLoopTile);  // lse and along, two buffers
  const int lane = static_cast<int>(threadIdx.x) % 32, row = static_cast<int>(threadIdx.x) / 32 * 16;
  const Place at = place_of(s, kOwnRows, s.causal && !kOwnsKeys);
  const GradientRows<Stored, kOwnsKeys> rows = gradient_rows<Stored, kOwnsKeys>(s, qkv, dy, dqkv, at.head);
  const Span span = other_rows(s, kOwnsKeys, at.first, at.first + kOwnRows - 1);
  lse += at.head * s.time, along += at.head * s.time;
  auto fetch = [&](std::int64_t first, int buffer) {
    Tile::template load<kLoop>(s, rows.other, first, wide, loop + 2 * buffer * Tile::kLoopTile);
    Tile::template load<kLoop>(s, rows.other_grad, first, wide, loop + (2 * buffer + 1) * Tile::kLoopTile);
    commit_copies();
    const int i = static_cast<int>(threadIdx.x);
    if (!kOwnsKeys || i >= 2 * kLoop) return;
    const std::int64_t t = first + i % kLoop;
    const float x = t >= s.time ? 0 : i < kLoop ? lse[t] * kLog2E : along[t];
    statistics[2 * buffer * kLoop + i] = x;
  };
  Tile::template load<kOwnRows>(s, rows.own, at.first, wide, own);
  Tile::template load<kOwnRows>(s, rows.own_grad, at.first, wide, own_grad);
  fetch(span.begin, 0);

  float own_lse[2] = {}, own_along[2] = {};
  if (!kOwnsKeys)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (const std::int64_t t = at.first + row + lane / 4 + 8 * half; t < s.time)
        own_lse[half] = lse[t] * kLog2E, own_along[half] = along[t];
  const float factor = static_cast<float>(s.scale) * kLog2E;
  float result[kDepth / 16][2][4] = {}, result_value[kOwnsKeys ? kDepth / 16 : 1][2][4] = {};
  int buffer = 0;
  for (std::int64_t first = span.begin; first < span.end; first += kLoop, buffer ^= 1) {
    const bool more = first + kLoop < span.end;
    if (more) fetch(first + kLoop, buffer ^ 1);
    more ? wait_copies<1>() : wait_copies<0>();
    __syncthreads();
    const Element *other = loop + 2 * buffer * Tile::kLoopTile, *other_grad = other + Tile::kLoopTile;
    const float* stored = statistics + 2 * buffer * kLoop;
    // Tiles on the diagonal and at the end; of our own rows, those beyond the last are not stored.
    const std::int64_t mine_first = at.first + row;
    const bool crosses = kOwnsKeys ? mine_first + 15 > first : first + kLoop - 1 > mine_first;
    const bool masked = first + kLoop > s.time || (s.causal && crosses);
#pragma unroll
    for (int n = 0; n < kLoop / 16; ++n) {
      float c[2][4] = {}, g[2][4] = {};
      Tile::scores(c, own, row, other, 16 * n);
      Tile::scores(g, own_grad, row, other_grad, 16 * n);
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int column = 16 * n + 8 * j + lane % 4 * 2 + e % 2;
          const std::int64_t mine = at.first + row + lane / 4 + e / 2 * 8, theirs = first + column;
          const std::int64_t t = kOwnsKeys ? theirs : mine, u = kOwnsKeys ? mine : theirs;
          const float less = kOwnsKeys ? stored[column] : own_lse[e / 2],
                      mean = kOwnsKeys ? stored[kLoop + column] : own_along[e / 2];
          const float p = masked && !sees(s, t, u) ? 0 : exp2f(c[j][e] * factor - less);
          c[j][e] = p;
          g[j][e] = p * (g[j][e] - mean);
        }
      Tile::add(result, g, other, 16 * n);
      if constexpr (kOwnsKeys) Tile::add(result_value, c, other_grad, 16 * n);
    }
    __syncthreads();
  }
  const float scale[2] = {static_cast<float>(s.scale), static_cast<float>(s.scale)};
  Tile::store(s, rows.out, at.first + row, wide, result, scale);
  if constexpr (kOwnsKeys) Tile::store(s, rows.out_value, at.first + row, wide, result_value, {1.0f, 1.0f});
}

template <class F, int kDepth>
void run_mma(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  using Stored = typename F::Stored;
  constexpr int kElement = static_cast<int>(sizeof(typename F::Element));
  const Stored *qkv = static_cast<const Stored*>(a.qkv), *dy = static_cast<const Stored*>(a.dy);
  Stored *y = static_cast<Stored*>(a.y), *dqkv = static_cast<Stored*>(a.dqkv);
  float *lse = static_cast<float*>(a.lse), *along = static_cast<float*>(a.along);
  const bool wide =
      s.width % (16 / kElement) == 0 && aligned(qkv) && aligned(y) && aligned(dy) && aligned(dqkv);
  const unsigned blocks = head_blocks(s, kOwnRows);
  auto allow = [](auto* kernel, int bytes) {
    HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  };
  if (dy == nullptr) {
    constexpr int kBytes = attention::mma_sizes(kDepth, kElement, false).bytes;
    allow(attention_forward<F, kDepth>, kBytes);
    attention_forward<F, kDepth><<<blocks, kMmaThreads, kBytes, stream>>>(s, wide, qkv, y, lse);
  } else {
    constexpr int kBytes = attention::mma_sizes(kDepth, kElement, true).bytes;
    allow(attention_backward<F, kDepth, false>, kBytes);
    attention_backward<F, kDepth, false>
        <<<blocks, kMmaThreads, kBytes, stream>>>(s, wide, qkv, dy, lse, along, dqkv);
    HEADROOM_CUDA_LAUNCHED();
    allow(attention_backward<F, kDepth, true>, kBytes);
    attention_backward<F, kDepth, true>
        <<<blocks, kMmaThreads, kBytes, stream>>>(s, wide, qkv, dy, lse, along, dqkv);
  }
  HEADROOM_CUDA_LAUNCHED();
}

template <class F>
void run_mma(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  switch (attention::mma_depth(static_cast<int>(s.width))) {
    case 32:
      return run_mma<F, 32>(s, a, stream);
    case 64:
      return run_mma<F, 64>(s, a, stream);
    default:
      return run_mma<F, 128>(s, a, stream);
  }
}

}  // namespace headroom::cuda
