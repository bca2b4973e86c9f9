#pragma once

// Convolution, bias, activation and pooling of images in shared memory by products of fp16. Exact fp32 takes
// two parts of each element, x = hi + lo after a power of two that fits the image: lo hi + hi lo in a sum of
// their own, hi hi in short sums that ordinary additions collect. Everything else takes one part. What bounds
// it are the products and the instructions around them: without reading the fragments it was no faster.

#include "ops/conv2d/cuda/block_results.cuh"
#include "ops/conv2d/cuda/block_sums.cuh"
#include "ops/conv2d/cuda/block_view.cuh"

namespace headroom::cuda {

// Compiled in block_mma_rounded.cu: one product of each pair, for tf32 and 16 bits.
void conv2d_block_mma_rounded(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x,
                              const void* w, const void* bias, void* y, cudaStream_t stream);

namespace {

// Towards L2, while something else is computed.
__device__ inline void fetch_ahead(const void* from, std::int64_t bytes) {
  const char* begin = static_cast<const char*>(from);
  for (std::int64_t at = std::int64_t{threadIdx.x} * 128; at < bytes; at += std::int64_t{blockDim.x} * 128)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + at));
}

template <bool kSplit, int kColumns8, BlockForm kForm>
__global__ void __launch_bounds__(block_threads(kSplit, kColumns8), 1)
    block_mma(DType dtype, const __grid_constant__ BlockShape s, const __grid_constant__ BlockPlan q,
              const void* x, const void* w, const void* bias, void* y) {
  constexpr int kRows16 = block_rows16(kSplit, kColumns8);
  constexpr bool kQuads = kForm == BlockForm::quads, kStaged = kForm == BlockForm::staged;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* weights = reinterpret_cast<WeightWords<kSplit>*>(memory);
  auto* terms = reinterpret_cast<int2*>(memory + q.terms_at);
  auto* view = reinterpret_cast<unsigned*>(memory + q.view_at);
  auto* stage = reinterpret_cast<float*>(memory + q.stage_at);
  unsigned* slots = reinterpret_cast<unsigned*>(memory + q.slots_at);
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
  float shift[kColumns8][2] = {};  // of the maps whose results this lane has
  with_type<kSplit>(dtype, [&](auto type) {
    using T = decltype(type);
    for (int j = 0; j < kColumns8; ++j)
      for (int e = 0; e < 2; ++e)
        if (const int map = first_map_of<kQuads>(j) + (kQuads ? 0 : e);
            !kStaged && bias != nullptr && map < maps)
          shift[j][e] = widen(static_cast<const T*>(bias)[first_map + map]);
  });

  if (q.by_pixels) {  // places of no pixel stay zero
    for (int i = static_cast<int>(threadIdx.x); i < q.view_words * (kSplit ? 2 : 1);
         i += static_cast<int>(blockDim.x))
      view[i] = 0;
    __syncthreads();
  }
  for (int index = static_cast<int>(blockIdx.x); index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const BlockTile tile = block_tile(s, q, index);
    int scale = kBlockUnscaled;
    with_type<kSplit>(dtype, [&](auto type) {
      using T = decltype(type);
      const T* from = static_cast<const T*>(x) + tile.image * image;
      scale = fill_view<kSplit>(s, q, tile, from, slots, view);
      if (q.bands == 1 && tile.image + static_cast<int>(gridDim.x) < s.batch)
        fetch_ahead(from + gridDim.x * image, image * static_cast<int>(sizeof(T)));
    });
    __syncthreads();  // the view is there, and the results of the tile before are stored
    const BlockUndo undo = undo_scales(scale, weight_scale);
    const int fragments = (tile.places + (kQuads ? 7 : 15)) / (kQuads ? 8 : 16);
#pragma unroll 1
    for (int fragment = warp * kRows16; fragment < fragments; fragment += warps * kRows16) {
      int at[kRows16][2];
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = a_row(lane, half), place = row_place(q, fragment + i, row);
          at[i][half] =
              q.view_at + 4 * window_begin(s, q, place < tile.places ? place : tile.places - 1, row);
        }
      BlockSums<kSplit, kColumns8, kRows16> sums;
      sum_block(q, memory, at, sums);
      if constexpr (kStaged) {
        stage_results(q, tile, fragment, undo, sums.sum, stage);
      } else {
        float v[kRows16 * kColumns8 * (kQuads ? 1 : 4)];
        finish_results<kQuads>(s, undo, shift, sums.sum, v);
        with_type<kSplit>(dtype, [&](auto type) {
          using T = decltype(type);
          T* out = static_cast<T*>(y) + (std::int64_t{tile.image} * s.maps + first_map) * s.out_h * s.out_w +
                   tile.first_row * s.out_w;
          if constexpr (kQuads || kSplit)
            store_results<kQuads, kColumns8, kRows16>(s, q, tile, fragment, maps, v, out);
          else
            store_runs<kColumns8, kRows16>(s, q, tile, fragment, maps, v, stage + warp * kBlockRunFloats,
                                           out);
        });
      }
    }
    __syncthreads();  // everything is staged, and nobody reads the view any more
    if constexpr (kStaged)
      with_type<kSplit>(dtype, [&](auto type) {
        using T = decltype(type);
        store_tile(s, q, tile, first_map, maps, stage, static_cast<const T*>(bias), static_cast<T*>(y));
      });
  }
}

template <bool kSplit, int kColumns8, BlockForm kForm>
void launch_block(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x, const void* w,
                  const void* bias, void* y, cudaStream_t stream) {
  const auto kernel = block_mma<kSplit, kColumns8, kForm>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(q.map_blocks));
  kernel<<<grid, static_cast<unsigned>(q.threads), static_cast<std::size_t>(q.bytes), stream>>>(
      dtype, s, q, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

template <bool kSplit, int kColumns8>
auto block_launcher(const BlockPlan& q) {
  return q.quad     ? launch_block<kSplit, kColumns8, BlockForm::quads>
         : q.direct ? launch_block<kSplit, kColumns8, BlockForm::plain>
                    : launch_block<kSplit, kColumns8, BlockForm::staged>;
}
template <bool kSplit>
auto block_launcher(const BlockPlan& q) {
  return q.columns8 == 1   ? block_launcher<kSplit, 1>(q)
         : q.columns8 == 2 ? block_launcher<kSplit, 2>(q)
         : q.columns8 == 3 ? block_launcher<kSplit, 3>(q)
                           : block_launcher<kSplit, 4>(q);
}

}  // namespace
}  // namespace headroom::cuda
