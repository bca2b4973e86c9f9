#pragma once

// Convolution, bias, activation and pooling of images in shared memory by products of fp16. Exact fp32 takes
// two parts of each element, x = hi + lo after a power of two that fits the image: lo hi + hi lo in a sum of
// their own, hi hi in short sums that ordinary additions collect. Everything else takes one part. What bounds
// it is shared memory: fragments of the view are read once for every use.

#include "ops/conv2d/cuda/block_fill.cuh"

namespace headroom::cuda {

// Compiled in block_mma_rounded.cu: one product of each pair, for tf32 and 16 bits.
void conv2d_block_mma_rounded(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x,
                              const void* w, const void* bias, void* y, cudaStream_t stream);

namespace {

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
    const T* from = static_cast<const T*>(w);
    // Those of a block lie together, or among all of them.
    const int begin = s.flipped ? 0 : first_map * s.depth(), count = (s.flipped ? s.maps : maps) * s.depth();
    if constexpr (kIsScaled<T>)
      weight_scale = block_scale(largest_of_block(largest_of(from + begin, count), slots));
    fill_block_weights<kSplit>(s, q, from, first_map, maps, block_power(weight_scale), weights, terms);
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
