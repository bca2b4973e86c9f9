#pragma once

// What cuda:block_mma puts into shared memory: the view of a tile and the weights of a block, in fp16 parts.

#include <type_traits>

#include "ops/conv2d/cuda/block_mma.h"
#include "ops/conv2d/cuda/image_mma.cuh"

namespace headroom::cuda {
namespace {

// Two words of weights, hi and lo.
template <bool kSplit>
using WeightWords = std::conditional_t<kSplit, uint4, uint2>;

__device__ inline unsigned as_bits(__half2 x) {
  return static_cast<unsigned>(__half_as_ushort(x.y)) << 16 | __half_as_ushort(x.x);
}
struct Parts {
  unsigned hi, lo;
};
template <bool kSplit>
__device__ inline Parts parts_of(float first, float second) {
  const __half2 hi = __floats2half2_rn(first, second);
  if constexpr (!kSplit) return {as_bits(hi), 0};
  const float2 back = __half22float2(hi);
  return {as_bits(hi), as_bits(__floats2half2_rn(first - back.x, second - back.y))};
}

// fp16 is multiplied as it is stored; everything else is scaled into its range.
template <class T>
inline constexpr bool kIsScaled = !std::is_same_v<T, Half>;

// The largest of all threads' values; `slots` has a word for each warp.
__device__ inline unsigned largest_of_block(unsigned mine, unsigned* slots) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, mine, lanes);
    mine = other > mine ? other : mine;
  }
  __syncthreads();  // nobody reads the slots any more
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = mine;
  __syncthreads();
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) mine = slots[warp] > mine ? slots[warp] : mine;
  return mine;
}

// Of `count` neighbours, by `threads` threads that share them. If kAny, infinities count, and an element
// takes one instruction; else they are left out, which takes some more.
template <bool kAny, class T>
__device__ inline unsigned largest_of(const T* x, int count, int thread, int threads) {
  float largest = 0;
  unsigned finite = 0;
  const auto look = [&](T value) {
    if constexpr (kAny)
      largest = fmaxf(largest, fabsf(widen(value)));
    else
      finite = larger_bits(finite, widen(value));
  };
  // Up to the first whole pack, the packs, and what is left.
  const int apart = static_cast<int>(reinterpret_cast<std::uintptr_t>(x) % sizeof(Pack<T>) / sizeof(T));
  const int head = apart == 0 ? 0 : kPack<T> - apart < count ? kPack<T> - apart : count;
  const int packs = (count - head) / kPack<T>;
  const Pack<T>* from = reinterpret_cast<const Pack<T>*>(x + head);
#pragma unroll 8
  for (int i = thread; i < packs; i += threads) {
    const Pack<T> p = from[i];
#pragma unroll
    for (int e = 0; e < kPack<T>; ++e) look(p.v[e]);
  }
  for (int i = thread; i < head; i += threads) look(x[i]);
  for (int i = head + packs * kPack<T> + thread; i < count; i += threads) look(x[i]);
  return kAny ? __float_as_uint(largest) : finite;
}

// The largest finite one of a block's threads, each of which looks at what `share(kAny)` tells it to.
constexpr unsigned kInfinity = 0x7F800000U;
template <class Share>
__device__ inline unsigned largest_finite(Share&& share, unsigned* slots) {
  const unsigned any = largest_of_block(share(std::true_type()), slots);
  return any < kInfinity ? any : largest_of_block(share(std::false_type()), slots);
}

// Of `count` neighbours, by all threads of the block. Called, not inlined: registers of its caller are
// scarce.
template <class T>
__device__ __noinline__ unsigned largest_of(const T* x, int count) {
  return largest_of<false>(x, count, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
}

// Of the rows that a tile's view holds.
template <class T>
__device__ __noinline__ unsigned largest_in_tile(const BlockShape& s, const BlockPlan& q,
                                                 const BlockTile& tile, const T* image, unsigned* slots) {
  const int first = view_top(s, tile), top = first > 0 ? first : 0;
  const int bottom = first + q.view_h < s.in_h ? first + q.view_h : s.in_h;
  const int plane = s.in_h * s.in_w, rows = bottom > top ? bottom - top : 0;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if (rows == s.in_h)
    return largest_finite(
        [&](auto any) { return largest_of<any>(image, s.channels * plane, thread, threads); }, slots);
  const int warp = thread / 32, warps = threads / 32;
  return largest_finite(
      [&](auto any) {
        unsigned largest = 0;
        for (int channel = warp; channel < s.channels; channel += warps) {
          const unsigned next =
              largest_of<any>(image + channel * plane + top * s.in_w, rows * s.in_w, thread % 32, 32);
          largest = next > largest ? next : largest;
        }
        return largest;
      },
      slots);
}

// The rows of the image that the tile needs, as words: those of hi, then those of lo.
template <bool kSplit, class T>
__device__ __noinline__ void fill_words(const BlockShape& shape, const BlockPlan& plan, const BlockTile& tile,
                                        const T* image, float scale, unsigned* view) {
  constexpr int kAhead = 8;
  const BlockShape s = shape;  // copies, which no store can change: what is needed of them stays in registers
  const BlockPlan q = plan;
  const int top = view_top(s, tile), image_plane = s.in_h * s.in_w;
  const int channels = q.by_columns ? 1 : 2;                           // of a word
  const int second = q.by_columns ? s.dilation_w : image_plane;        // from its first element to the other
  const int last_column = s.in_w - (q.by_columns ? s.dilation_w : 0);  // where both are there, at most
  PlaneWalk walk(q.view_h, q.pitch, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
#pragma unroll 1
  while (walk.plane < q.planes) {
    float value[kAhead][2];
    int to[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {  // without branches: all loads are under way at once
      const int h = top + walk.row, w = walk.column - s.pad_w, channel = channels * walk.plane;
      const bool inside = walk.plane < q.planes && static_cast<unsigned>(h) < static_cast<unsigned>(s.in_h);
      const bool here = inside && static_cast<unsigned>(w) < static_cast<unsigned>(s.in_w);
      const bool both = q.by_columns ? inside && w < last_column && w + s.dilation_w >= 0
                                     : here && channel + 1 < s.channels;
      const T* const from = image + (channel * image_plane + h * s.in_w + w);
      value[u][0] = here ? widen(from[0]) : 0;
      value[u][1] = both ? widen(from[second]) : 0;
      to[u] = walk.plane < q.planes ? plane_begin(q, walk.plane) + walk.row * q.pitch + walk.column : -1;
      walk.next();
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (to[u] < 0) break;
      const Parts parts = parts_of<kSplit>(value[u][0] * scale, value[u][1] * scale);
      view[to[u]] = parts.hi;
      if constexpr (kSplit) view[to[u] + q.view_words] = parts.lo;
    }
  }
}

// Weights in fragment order [step][8 columns][lane], and the places, in bytes, of the words {t, t + 4} per
// step and t; two steps more than there are, so that places can be read ahead.
template <bool kSplit, class T>
__device__ __noinline__ void fill_block_weights(const BlockShape& shape, const BlockPlan& plan, const T* w,
                                                int first_map, int maps, float scale,
                                                WeightWords<kSplit>* weights, int2* terms) {
  constexpr int kMaxColumns8 = 4;
  const BlockShape s = shape;
  const BlockPlan q = plan;
  if (threadIdx.x < 8) terms[q.steps * 4 + threadIdx.x] = make_int2(0, 0);
  for (int i = static_cast<int>(threadIdx.x); i < q.steps * 32; i += static_cast<int>(blockDim.x)) {
    const int step = i / 32, lane = i % 32;
    const BlockTerm term[2] = {block_term(s, q, step * 8 + b_word(lane, 0)),
                               block_term(s, q, step * 8 + b_word(lane, 1))};
    if (lane < 4)
      terms[step * 4 + lane] = make_int2(4 * term_place(s, q, term[0]), 4 * term_place(s, q, term[1]));
    float value[kMaxColumns8][2][2];  // all of them are on their way before the first is used
#pragma unroll
    for (int j = 0; j < kMaxColumns8; ++j) {
      const int column = 8 * j + b_column(lane), map = column_map(q, column);
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at =
              map < maps && j < q.columns8 ? term_weight(s, q, term[r], h, column_shift(q, column)) : -1;
          value[j][r][h] = at < 0 ? 0.0F : widen(w[weight_place(s, first_map + map, at)]);
        }
    }
#pragma unroll
    for (int j = 0; j < kMaxColumns8; ++j) {
      if (j >= q.columns8) break;
      Parts parts[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) parts[r] = parts_of<kSplit>(value[j][r][0] * scale, value[j][r][1] * scale);
      const int to = (step * q.columns8 + j) * 32 + lane;
      if constexpr (kSplit)
        weights[to] = make_uint4(parts[0].hi, parts[1].hi, parts[0].lo, parts[1].lo);
      else
        weights[to] = make_uint2(parts[0].hi, parts[1].hi);
    }
  }
}

}  // namespace
}  // namespace headroom::cuda
