#pragma once

// Convolution, bias, activation and pooling of images in shared memory by products of fp16. Exact fp32 takes
// two parts of each element, x = hi + lo after a power of two that fits the image: lo hi + hi lo in a sum of
// their own, hi hi in short sums that ordinary additions collect. Everything else takes one part. What bounds
// it is shared memory: fragments of the view are read once for every use.

#include <type_traits>

#include "ops/conv2d/cuda/block_mma.h"
#include "ops/conv2d/cuda/image_mma.cuh"

namespace headroom::cuda {

// Compiled in block_mma_rounded.cu: one product of each pair, for tf32 and 16 bits.
void conv2d_block_mma_rounded(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x,
                              const void* w, const void* bias, void* y, cudaStream_t stream);

namespace {

// Two elements of the view, hi and lo; two words of weights, hi and lo.
template <bool kSplit>
using ViewWord = std::conditional_t<kSplit, uint2, unsigned>;
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

// Of `count` neighbours.
template <class T>
__device__ __noinline__ unsigned largest_of(const T* x, int count) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  unsigned largest = 0;
  int begin = 0;
  if (reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
    const Pack<T>* from = reinterpret_cast<const Pack<T>*>(x);
    const int packs = count / kPack<T>;
#pragma unroll 4
    for (int i = thread; i < packs; i += threads) {
      const Pack<T> p = from[i];
#pragma unroll
      for (int e = 0; e < kPack<T>; ++e) largest = larger_bits(largest, widen(p.v[e]));
    }
    begin = packs * kPack<T>;
  }
  for (int i = begin + thread; i < count; i += threads) largest = larger_bits(largest, widen(x[i]));
  return largest;
}

// Of the rows that a tile's view holds.
template <class T>
__device__ unsigned largest_in_tile(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                    const T* image) {
  const int first = view_top(s, tile), top = first > 0 ? first : 0;
  const int bottom = first + q.view_h < s.in_h ? first + q.view_h : s.in_h;
  if (bottom <= top) return 0;
  const int plane = s.in_h * s.in_w;
  if (bottom - top == s.in_h) return largest_of(image, s.channels * plane);
  unsigned largest = 0;
  for (int channel = 0; channel < s.channels; ++channel) {
    const unsigned here = largest_of(image + channel * plane + top * s.in_w, (bottom - top) * s.in_w);
    largest = here > largest ? here : largest;
  }
  return largest;
}

// The rows of the image that the tile needs, as words.
template <bool kSplit, class T>
__device__ __noinline__ void fill_words(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                        const T* image, float scale, ViewWord<kSplit>* view) {
  constexpr int kAhead = 4;
  const int count = q.planes * q.view_h * q.pitch, top = view_top(s, tile);
  const int threads = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kAhead * threads) {
    float value[kAhead][2];
    int to[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const int e = first + u * threads;
      to[u] = -1, value[u][0] = value[u][1] = 0;
      if (e >= count) continue;
      const int line = divided(e, q.by_pitch), column = e - line * q.pitch;
      const int plane = divided(line, q.by_view_h), row = line - plane * q.view_h;
      to[u] = plane_begin(q, plane) + row * q.pitch + column;
      if (static_cast<unsigned>(top + row) >= static_cast<unsigned>(s.in_h)) continue;
      const WordSource from = word_source(s, q, plane, column);
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (from.channel[h] < s.channels &&
            static_cast<unsigned>(from.column[h]) < static_cast<unsigned>(s.in_w))
          value[u][h] = widen(image[(from.channel[h] * s.in_h + top + row) * s.in_w + from.column[h]]);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (to[u] < 0) continue;
      const Parts parts = parts_of<kSplit>(value[u][0] * scale, value[u][1] * scale);
      if constexpr (kSplit)
        view[to[u]] = make_uint2(parts.hi, parts.lo);
      else
        view[to[u]] = parts.hi;
    }
  }
}

// Weights in fragment order [step][8 columns][lane], and the places of the words {t, t + 4} per step and t.
template <bool kSplit, class T>
__device__ __noinline__ void fill_block_weights(const BlockShape& s, const BlockPlan& q, const T* w, int maps,
                                                float scale, WeightWords<kSplit>* weights, int2* terms) {
  const int depth = s.depth();
  for (int i = static_cast<int>(threadIdx.x); i < q.steps * 32; i += static_cast<int>(blockDim.x)) {
    const int step = i / 32, lane = i % 32;
    const BlockTerm term[2] = {block_term(s, q, step * 8 + b_word(lane, 0)),
                               block_term(s, q, step * 8 + b_word(lane, 1))};
    if (lane < 4) terms[step * 4 + lane] = make_int2(term_place(s, q, term[0]), term_place(s, q, term[1]));
    for (int j = 0; j < q.columns8; ++j) {
      const int column = 8 * j + b_column(lane), map = column_map(q, column);
      Parts parts[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float value[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at = map < maps ? term_weight(s, q, term[r], h, column_shift(q, column)) : -1;
          value[h] = at < 0 ? 0.0F : widen(w[map * depth + at]) * scale;
        }
        parts[r] = parts_of<kSplit>(value[0], value[1]);
      }
      const int to = (step * q.columns8 + j) * 32 + lane;
      if constexpr (kSplit)
        weights[to] = make_uint4(parts[0].hi, parts[1].hi, parts[0].lo, parts[1].lo);
      else
        weights[to] = make_uint2(parts[0].hi, parts[1].hi);
    }
  }
}

// All products of one step.
template <bool kSplit, int kColumns8, int kRows16>
__device__ inline void multiply_step(const ViewWord<kSplit> (&a)[kRows16][4],
                                     const WeightWords<kSplit> (&b)[kColumns8],
                                     float (&large)[kRows16][kColumns8][4],
                                     float (&small)[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4]) {
  unsigned hi[kRows16][4];
  if constexpr (kSplit) {
#pragma unroll
    for (int i = 0; i < kRows16; ++i) {
      unsigned lo[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) hi[i][e] = a[i][e].x, lo[e] = a[i][e].y;
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        const unsigned other[2] = {b[j].x, b[j].y};
        mma_16bit<Half>(small[i][j], lo, other);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        const unsigned other[2] = {b[j].x, b[j].y};
        mma_16bit<Half>(large[i][j], hi[i], other);
      }
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        const unsigned other[2] = {b[j].z, b[j].w};
        mma_16bit<Half>(small[i][j], hi[i], other);
      }
  } else {
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        const unsigned other[2] = {b[j].x, b[j].y};
        mma_16bit<Half>(large[i][j], a[i], other);
      }
  }
}

// The sum over all steps for 16 kRows16 rows, whose windows begin at `at`. What a step needs is read a step
// ahead, its places two.
template <bool kSplit, int kColumns8, int kRows16>
__device__ inline void sum_block(const BlockPlan& q, const WeightWords<kSplit>* weights, const int2* terms,
                                 const ViewWord<kSplit>* view, const int (&at)[kRows16][2],
                                 float (&sum)[kRows16][kColumns8][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  weights += lane, terms += lane % 4;
  ViewWord<kSplit> a[kRows16][4];
  WeightWords<kSplit> b[kColumns8];
  float large[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4] = {};
  float small[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4] = {};
  const auto read = [&](int step, const int2& term) {
#pragma unroll
    for (int j = 0; j < kColumns8; ++j) b[j] = weights[(step * kColumns8 + j) * 32];
#pragma unroll
    for (int i = 0; i < kRows16; ++i) {
      a[i][0] = view[at[i][0] + term.x], a[i][1] = view[at[i][1] + term.x];
      a[i][2] = view[at[i][0] + term.y], a[i][3] = view[at[i][1] + term.y];
    }
  };
  const auto later = [&](int step) { return step < q.steps ? step : 0; };  // past the end: anything
  int2 term = terms[0];
  read(0, term);
  term = terms[4 * later(1)];
  const auto take = [&](int step) {
    ViewWord<kSplit> now_a[kRows16][4];
    WeightWords<kSplit> now_b[kColumns8];
#pragma unroll
    for (int j = 0; j < kColumns8; ++j) now_b[j] = b[j];
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) now_a[i][e] = a[i][e];
    read(later(step + 1), term);
    term = terms[4 * later(step + 2)];
    if constexpr (kSplit)
      multiply_step<kSplit>(now_a, now_b, large, small);
    else
      multiply_step<kSplit>(now_a, now_b, sum, small);
  };
  int step = 0;
#pragma unroll 1
  for (; step + kBlockGroup <= q.steps; step += kBlockGroup) {
#pragma unroll
    for (int u = 0; u < kBlockGroup; ++u) take(step + u);
    if constexpr (kSplit) promote(sum, large);
  }
#pragma unroll 1
  for (; step < q.steps; ++step) take(step);
  if constexpr (kSplit) promote(sum, large), promote(sum, small);
}

// Results to their places; of quads, the largest of four.
template <int kColumns8, int kRows16, bool kQuad>
__device__ inline void stage_results(const BlockPlan& q, const BlockTile& tile, int fragment,
                                     const BlockUndo& undo, const float (&sum)[kRows16][kColumns8][4],
                                     float* stage) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int half = 0; half < (kQuad ? 1 : 2); ++half) {
      const int place = row_place(q, fragment + i, c_row(lane, 2 * half));
      if (place >= tile.places) continue;
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        const float(&c)[4] = sum[i][j];
        float* to = stage + column_map(q, 8 * j + c_column(lane, 0)) * q.stage_pitch + place;
        if constexpr (kQuad) {
          const float most = pooled_max(pooled_max(c[0], c[1]), pooled_max(c[2], c[3]));
          to[0] = most * undo.first * undo.second;
        } else {
          to[0] = c[2 * half] * undo.first * undo.second;
          to[q.stage_pitch] = c[2 * half + 1] * undo.first * undo.second;
        }
      }
    }
}

// One output, from the staged results of its map.
__device__ inline float finished(const BlockShape& s, const BlockPlan& q, const BlockTile& tile, int at,
                                 float bias, const float* stage) {
  if (q.quad || s.pooling == BlockPooling::none) return activate(s.activation, stage[at] + bias);
  const int line = divided(at, q.by_out_w);
  const int top = line * s.step_h, left = (at - line * s.out_w) * s.step_w;
  const int bottom = pool_reach(top, s.pool_h, tile.conv_rows), right = pool_reach(left, s.pool_w, s.conv_w);
  const bool mean = s.pooling == BlockPooling::mean;
  float value = mean ? 0.0F : stage[top * q.place_w + left];
#pragma unroll 1
  for (int row = top; row < bottom; ++row)
#pragma unroll 1
    for (int column = left; column < right; ++column) {
      const float next = stage[row * q.place_w + column];
      value = mean ? value + activate(s.activation, next + bias) : pooled_max(value, next);
    }
  return mean ? value / static_cast<float>((bottom - top) * (right - left))
              : activate(s.activation, value + bias);
}

template <class T>
__device__ __noinline__ void store_tile(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                        int first_map, int maps, const float* stage, const T* bias, T* y) {
  const int band = q.rows * s.out_w, wanted = tile.rows * s.out_w, plane = s.out_h * s.out_w;
  T* out = y + (std::int64_t{tile.image} * s.maps + first_map) * plane + tile.first_row * s.out_w;
  for (int e = static_cast<int>(threadIdx.x); e < maps * band; e += static_cast<int>(blockDim.x)) {
    const int map = divided(e, q.by_band), at = e - map * band;
    if (at >= wanted) continue;
    const float shift = bias == nullptr ? 0.0F : widen(bias[first_map + map]);
    out[map * plane + at] = narrow<T>(finished(s, q, tile, at, shift, stage + map * q.stage_pitch));
  }
}

// Towards L2, while something else is computed.
__device__ inline void fetch_ahead(const void* from, std::int64_t bytes) {
  const char* begin = static_cast<const char*>(from);
  for (std::int64_t at = std::int64_t{threadIdx.x} * 128; at < bytes; at += std::int64_t{blockDim.x} * 128)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + at));
}

template <bool kSplit, int kColumns8, bool kQuad>
__global__ void __launch_bounds__(block_threads(kSplit, kColumns8), 1)
    block_mma(DType dtype, const __grid_constant__ BlockShape s, const __grid_constant__ BlockPlan q,
              const void* x, const void* w, const void* bias, void* y) {
  constexpr int kRows16 = block_rows16(kSplit, kColumns8);
  extern __shared__ __align__(16) unsigned char memory[];
  auto* weights = reinterpret_cast<WeightWords<kSplit>*>(memory);
  auto* terms = reinterpret_cast<int2*>(memory + q.terms_at);
  auto* view = reinterpret_cast<ViewWord<kSplit>*>(memory + q.view_at);
  auto* stage = reinterpret_cast<float*>(memory + q.stage_at);
  unsigned* slots = reinterpret_cast<unsigned*>(stage + q.block_maps * q.stage_pitch);
  const int first_map = static_cast<int>(blockIdx.y) * q.block_maps;
  const int maps = q.block_maps < s.maps - first_map ? q.block_maps : s.maps - first_map;
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t image = std::int64_t{s.channels} * s.in_h * s.in_w;

  int weight_scale = kBlockUnscaled;
  with_type<kSplit>(dtype, [&](auto type) {
    using T = decltype(type);
    const T* from = static_cast<const T*>(w) + std::int64_t{first_map} * s.depth();
    if constexpr (kIsScaled<T>)
      weight_scale = block_scale(largest_of_block(largest_of(from, maps * s.depth()), slots));
    fill_block_weights<kSplit>(s, q, from, maps, block_power(weight_scale), weights, terms);
  });

  for (int index = static_cast<int>(blockIdx.x); index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const BlockTile tile = block_tile(s, q, index);
    int scale = kBlockUnscaled;
    with_type<kSplit>(dtype, [&](auto type) {
      using T = decltype(type);
      const T* from = static_cast<const T*>(x) + tile.image * image;
      if constexpr (kIsScaled<T>)
        scale = block_scale(largest_of_block(largest_in_tile(s, q, tile, from), slots));
      fill_words<kSplit>(s, q, tile, from, block_power(scale), view);
      if (q.bands == 1 && tile.image + static_cast<int>(gridDim.x) < s.batch)
        fetch_ahead(from + gridDim.x * image, image * static_cast<int>(sizeof(T)));
    });
    __syncthreads();  // the view is there, and the results of the tile before are stored
    const BlockUndo undo = undo_scales(scale, weight_scale);
    const int fragments = (tile.places + (kQuad ? 7 : 15)) / (kQuad ? 8 : 16);
#pragma unroll 1
    for (int fragment = warp * kRows16; fragment < fragments; fragment += warps * kRows16) {
      int at[kRows16][2];
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = a_row(lane, half), place = row_place(q, fragment + i, row);
          at[i][half] = window_begin(s, q, place < tile.places ? place : tile.places - 1, row);
        }
      float sum[kRows16][kColumns8][4] = {};
      sum_block<kSplit>(q, weights, terms, view, at, sum);
      stage_results<kColumns8, kRows16, kQuad>(q, tile, fragment, undo, sum, stage);
    }
    __syncthreads();  // everything is staged, and nobody reads the view any more
    with_type<kSplit>(dtype, [&](auto type) {
      using T = decltype(type);
      store_tile(s, q, tile, first_map, maps, stage, static_cast<const T*>(bias), static_cast<T*>(y));
    });
  }
}

template <bool kSplit, int kColumns8, bool kQuad>
void launch_block(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x, const void* w,
                  const void* bias, void* y, cudaStream_t stream) {
  const auto kernel = block_mma<kSplit, kColumns8, kQuad>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(q.map_blocks));
  kernel<<<grid, static_cast<unsigned>(q.threads), static_cast<std::size_t>(q.bytes), stream>>>(
      dtype, s, q, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

template <bool kSplit>
auto block_launcher(int columns8, bool quad) {
  return columns8 == 1   ? (quad ? launch_block<kSplit, 1, true> : launch_block<kSplit, 1, false>)
         : columns8 == 2 ? (quad ? launch_block<kSplit, 2, true> : launch_block<kSplit, 2, false>)
         : columns8 == 3 ? (quad ? launch_block<kSplit, 3, true> : launch_block<kSplit, 3, false>)
                         : (quad ? launch_block<kSplit, 4, true> : launch_block<kSplit, 4, false>);
}

}  // namespace
}  // namespace headroom::cuda
