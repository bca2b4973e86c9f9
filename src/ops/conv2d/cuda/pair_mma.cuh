#pragma once

// Convolution, bias, activation and pooling of images of one channel by products of fp16, with the
// parts, scales and sums of cuda:block_mma. Blocks are small and several of them share a multiprocessor:
// while one reads an image, others multiply. Weights stay in registers, and so does an image between the
// search for its largest value and the store of its parts: it is read once.

#include "ops/conv2d/cuda/block_results.cuh"
#include "ops/conv2d/cuda/pair_mma.h"

namespace headroom::cuda {

// Compiled in pair_mma_rounded.cu: one product of each pair, for tf32 and 16 bits.
void conv2d_pair_mma_rounded(DType dtype, const BlockShape& s, const PairPlan& q, const void* x,
                             const void* w, const void* bias, void* y, cudaStream_t stream);

namespace {

// Two pixels, or zeros outside of the image. Both at once where they lie so.
template <class T>
__device__ inline float2 read_pair(const BlockShape& s, const PairSource& from, bool wanted, bool together,
                                   const T* image) {
  const bool row = wanted && static_cast<unsigned>(from.row) < static_cast<unsigned>(s.in_h);
  const T* at = image + (from.row * s.in_w + from.column);
  float2 pair = make_float2(0, 0);
  if constexpr (std::is_same_v<T, float>) {
    if (together) {
      if (row && static_cast<unsigned>(from.column) < static_cast<unsigned>(s.in_w))
        pair = *reinterpret_cast<const float2*>(at);
      return pair;
    }
  }
  if (row && static_cast<unsigned>(from.column) < static_cast<unsigned>(s.in_w)) pair.x = widen(at[0]);
  if (row && static_cast<unsigned>(from.column + 1) < static_cast<unsigned>(s.in_w)) pair.y = widen(at[1]);
  return pair;
}

// The view of a tile, hi and behind it lo; returns the scale of its parts, as a biased exponent. Until the
// largest pixel is known the two of a word wait in its two places; nobody but the thread that wrote them
// reads them.
template <bool kSplit, class T>
__device__ inline int fill_pairs(const BlockShape& s, const PairPlan& q, const PairTile& tile, const T* image,
                                 unsigned* slots, unsigned* view) {
  constexpr int kAhead = 8;
  const int thread = static_cast<int>(threadIdx.x), words = q.words();
  const bool together =
      s.in_w % 2 == 0 && s.pad_w % 2 == 0 && reinterpret_cast<std::uintptr_t>(image) % sizeof(float2) == 0;
  unsigned largest = 0;
#pragma unroll 1
  for (int first = thread; first < words; first += kAhead * kPairThreads) {
    float2 pair[kAhead];
    int to[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const int word = first + u * kPairThreads;
      const PairSource from = pair_source(s, q, tile, word);
      pair[u] = read_pair(s, from, word < words, together, image), to[u] = from.to;
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (first + u * kPairThreads >= words) break;
      largest = larger_bits(larger_bits(largest, pair[u].x), pair[u].y);
      view[to[u]] = __float_as_uint(pair[u].x), view[to[u] + q.view_words] = __float_as_uint(pair[u].y);
    }
  }
  const int scale = kIsScaled<T> ? block_scale(largest_of_block(largest, slots)) : kBlockUnscaled;
  const float power = block_power(scale);
#pragma unroll 4
  for (int word = thread; word < words; word += kPairThreads) {
    unsigned* const to = view + pair_source(s, q, tile, word).to;
    const Parts parts =
        parts_of<kSplit>(__uint_as_float(to[0]) * power, __uint_as_float(to[q.view_words]) * power);
    to[0] = parts.hi;
    if constexpr (kSplit) to[q.view_words] = parts.lo;
  }
  return scale;
}

// Into shared memory, in fragment order [step][8 columns][lane].
template <bool kSplit, int kColumns8, int kSteps, class T>
__device__ inline void fill_pair_weights(const BlockShape& s, const T* w, int first_map, int maps,
                                         float scale, WeightWords<kSplit>* weights) {
  for (int i = static_cast<int>(threadIdx.x); i < kSteps * kColumns8 * 32; i += kPairThreads) {
    const int lane = i % 32, column = i / 32 % kColumns8 * 8 + b_column(lane), map = column / 2;
    Parts parts[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int tap = pair_tap(kSteps, i / 32 / kColumns8, r);
      float value[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int at = map < maps ? pair_weight(s, tap, lane % 4, h, column % 2) : -1;
        value[h] = at < 0 ? 0.0F : widen(w[(first_map + map) * s.depth() + at]) * scale;
      }
      parts[r] = parts_of<kSplit>(value[0], value[1]);
    }
    if constexpr (kSplit)
      weights[i] = make_uint4(parts[0].hi, parts[1].hi, parts[0].lo, parts[1].lo);
    else
      weights[i] = make_uint2(parts[0].hi, parts[1].hi);
  }
}

// The rows of eight windows, as words of a lane: `window` is its word in the first pair of rows.
template <int kSteps>
struct PairWindow {
  unsigned row[2 * kSteps];

  __device__ PairWindow(const PairPlan& q, const uint2* window) {
#pragma unroll
    for (int pair = 0; pair < kSteps; ++pair, window += q.pitch) {
      const uint2 two = *window;
      row[2 * pair] = two.x, row[2 * pair + 1] = two.y;
    }
  }
  // c += this window by some weights, for all steps; `pick` takes hi or lo of two words of weights.
  template <int kColumns8, class Words, class Pick>
  __device__ void multiply(const Words (&weights)[kSteps][kColumns8], const Pick& pick,
                           float (&c)[kColumns8][4]) const {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const unsigned a[4] = {row[pair_row(kSteps, step, 0)], row[pair_row(kSteps, step, 1)],
                             row[pair_row(kSteps, step, 2)], row[pair_row(kSteps, step, 3)]};
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        const uint2 b = pick(weights[step][j]);
        const unsigned two[2] = {b.x, b.y};
        mma_16bit<Half>(c[j], a, two);
      }
    }
  }
};

// The sums of eight quads: the small products first. At most 64 large ones follow, few enough for the
// accumulator of the tensor cores.
template <bool kSplit, int kColumns8, int kSteps>
__device__ inline void sum_quads(const PairPlan& q, const uint2* window,
                                 const WeightWords<kSplit> (&weights)[kSteps][kColumns8],
                                 float (&sum)[kColumns8][4]) {
  const auto high = [](const auto& w) { return make_uint2(w.x, w.y); };
  const PairWindow<kSteps> hi(q, window);
  if constexpr (kSplit) {
    const PairWindow<kSteps> lo(q, window + q.view_words / 2);
    lo.multiply(weights, high, sum);
    hi.multiply(
        weights, [](const uint4& w) { return make_uint2(w.z, w.w); }, sum);
  }
  hi.multiply(weights, high, sum);
}

// Results that are not pooled, {upper left, upper right, lower left, lower right} of a lane's maps: two
// neighbours at once where they lie so.
template <class T, int kAll>
__device__ inline void store_quads(const BlockShape& s, const PairPlan& q, const PairTile& tile, int place,
                                   int maps, const float (&v)[kAll], T* out) {
  struct alignas(2 * sizeof(T)) Both {
    T left, right;
  };
  const int plane = s.out_h * s.out_w, map = static_cast<int>(threadIdx.x) % 4;
  const int line = divided(place, q.by_quad_w), column = 2 * (place - line * q.quad_w);
  const bool together = s.out_w % 2 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * (tile.first_row + line) + half;
    if (row >= s.out_h) continue;
    T* to = out + map * plane + row * s.out_w + column;
#pragma unroll
    for (int j = 0; j < kAll / 4; ++j, to += 4 * plane) {
      if (map + 4 * j >= maps) continue;
      const Both both{narrow<T>(v[4 * j + 2 * half]), narrow<T>(v[4 * j + 2 * half + 1])};
      if (together) {
        *reinterpret_cast<Both*>(to) = both;
      } else {
        to[0] = both.left;
        if (column + 1 < s.out_w) to[1] = both.right;
      }
    }
  }
}

// Pooled ones, the first value of each map.
template <class T, int kAll>
__device__ inline void store_pooled(const BlockShape& s, int maps, const float (&v)[kAll], T* out) {
  const int plane = s.out_h * s.out_w, map = static_cast<int>(threadIdx.x) % 4;
  T* to = out + map * plane;
#pragma unroll
  for (int j = 0; j < kAll / 4; ++j, to += 4 * plane)
    if (map + 4 * j < maps) *to = narrow<T>(v[4 * j]);
}

// Pooled: the first of the four values of a quad is the result.
template <int kColumns8>
__device__ inline void finish_quads(const BlockShape& s, const BlockUndo& undo,
                                    const float (&bias)[kColumns8], const float (&sum)[kColumns8][4],
                                    float (&v)[4 * kColumns8]) {
  const auto finished = [&](int j, float x) { return x * undo.first * undo.second + bias[j]; };
  if (s.pooling == BlockPooling::max) {
    float most[kColumns8];
#pragma unroll
    for (int j = 0; j < kColumns8; ++j) {
      const float(&c)[4] = sum[j];
      most[j] = finished(j, larger(larger(c[0], c[1]), larger(c[2], c[3])));
    }
    finish_values(static_cast<Activation>(s.activation), most);
#pragma unroll
    for (int j = 0; j < kColumns8; ++j) v[4 * j] = most[j];
    return;
  }
#pragma unroll
  for (int i = 0; i < 4 * kColumns8; ++i) v[i] = finished(i / 4, sum[i / 4][i % 4]);
  finish_values(static_cast<Activation>(s.activation), v);
  if (s.pooling == BlockPooling::none) return;
#pragma unroll
  for (int j = 0; j < kColumns8; ++j)
    v[4 * j] = ((v[4 * j] + v[4 * j + 1]) + (v[4 * j + 2] + v[4 * j + 3])) / 4;
}

template <bool kSplit, int kColumns8, int kSteps>
__global__ void __launch_bounds__(kPairThreads, kPairBlocks)
    pair_mma(DType dtype, const __grid_constant__ BlockShape s, const __grid_constant__ PairPlan q,
             const void* x, const void* w, const void* bias, void* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* weights = reinterpret_cast<WeightWords<kSplit>*>(memory);
  auto* view = reinterpret_cast<unsigned*>(weights + kSteps * kColumns8 * 32);
  unsigned* slots = view + 2 * q.view_words;
  const int first_map = static_cast<int>(blockIdx.y) * q.block_maps();
  const int maps = q.block_maps() < s.maps - first_map ? q.block_maps() : s.maps - first_map;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;

  int weight_scale = kBlockUnscaled;
  float shift[kColumns8] = {};
  with_type<kSplit>(dtype, [&](auto type) {
    using T = decltype(type);
    const T* from = static_cast<const T*>(w);
    if constexpr (kIsScaled<T>)
      weight_scale =
          block_scale(largest_of_block(largest_of(from + first_map * s.depth(), maps * s.depth()), slots));
    fill_pair_weights<kSplit, kColumns8, kSteps>(s, from, first_map, maps, block_power(weight_scale),
                                                 weights);
#pragma unroll
    for (int j = 0; j < kColumns8; ++j)
      if (const int map = 4 * j + lane % 4; bias != nullptr && map < maps)
        shift[j] = widen(static_cast<const T*>(bias)[first_map + map]);
  });

  for (int index = static_cast<int>(blockIdx.x); index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const PairTile tile = pair_tile(q, index);
    int scale = kBlockUnscaled;
    with_type<kSplit>(dtype, [&](auto type) {
      using T = decltype(type);
      scale = fill_pairs<kSplit>(
          s, q, tile, static_cast<const T*>(x) + std::int64_t{tile.image} * s.in_h * s.in_w, slots, view);
    });
    __syncthreads();  // the view is there, and at first the weights
    WeightWords<kSplit> mine[kSteps][kColumns8];
#pragma unroll
    for (int i = 0; i < kSteps * kColumns8; ++i) mine[i / kColumns8][i % kColumns8] = weights[i * 32 + lane];
    const BlockUndo undo = undo_scales(scale, weight_scale);
    const std::int64_t result = (std::int64_t{tile.image} * s.maps + first_map) * s.out_h * s.out_w;
#pragma unroll 1
    for (int first = warp * 8; first < tile.places; first += kPairThreads / 4) {
      const int place = first + lane / 4, last = tile.places - 1;
      const int window = pair_window(q, place < last ? place : last) + lane % 4;
      float sum[kColumns8][4] = {}, v[4 * kColumns8];
      sum_quads<kSplit, kColumns8, kSteps>(q, reinterpret_cast<const uint2*>(view) + window, mine, sum);
      finish_quads(s, undo, shift, sum, v);
      if (place > last) continue;
      with_type<kSplit>(dtype, [&](auto type) {
        using T = decltype(type);
        T* const out = static_cast<T*>(y) + result;
        if (s.pooling == BlockPooling::none)
          store_quads(s, q, tile, place, maps, v, out);
        else
          store_pooled(s, maps, v, out + (tile.first_row * s.out_w + place));
      });
    }
    __syncthreads();  // nobody reads the view any more
  }
}

template <bool kSplit, int kColumns8, int kSteps>
void launch_pairs(DType dtype, const BlockShape& s, const PairPlan& q, const void* x, const void* w,
                  const void* bias, void* y, cudaStream_t stream) {
  const auto kernel = pair_mma<kSplit, kColumns8, kSteps>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(q.map_blocks));
  kernel<<<grid, kPairThreads, static_cast<std::size_t>(q.bytes), stream>>>(dtype, s, q, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

template <bool kSplit, int kColumns8>
auto pair_launcher(const PairPlan& q) {
  return q.steps == 2   ? launch_pairs<kSplit, kColumns8, 2>
         : q.steps == 3 ? launch_pairs<kSplit, kColumns8, 3>
                        : launch_pairs<kSplit, kColumns8, 4>;
}
template <bool kSplit>
auto pair_launcher(const PairPlan& q) {
  return q.columns8 == 1   ? pair_launcher<kSplit, 1>(q)
         : q.columns8 == 2 ? pair_launcher<kSplit, 2>(q)
                           : pair_launcher<kSplit, 3>(q);
}

}  // namespace
}  // namespace headroom::cuda
