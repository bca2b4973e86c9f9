#pragma once

// Convolution, bias, activation and pooling of images in shared memory by products of fp16. Exact fp32 takes
// two parts of each element, x = hi + lo after a power of two that fits the image: lo hi + hi lo in a sum of
// their own, hi hi in short sums that ordinary additions collect. Everything else takes one part. What bounds
// it is shared memory: fragments of the view are read once for every use.

#include "ops/conv2d/cuda/block_fill.cuh"
#include "ops/cuda/finish.cuh"

namespace headroom::cuda {

// Compiled in block_mma_rounded.cu: one product of each pair, for tf32 and 16 bits.
void conv2d_block_mma_rounded(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x,
                              const void* w, const void* bias, void* y, cudaStream_t stream);

namespace {

// What one step multiplies: words of the view, hi and lo, and of weights. Each word has a register where the
// products want it, so that none is copied.
template <bool kSplit, int kColumns8, int kRows16>
struct BlockFragments {
  unsigned hi[kRows16][4], lo[kSplit ? kRows16 : 1][4];
  WeightWords<kSplit> weights[kColumns8];
};

template <bool kSplit, int kColumns8, int kRows16>
struct BlockSums {
  float sum[kRows16][kColumns8][4] = {};
  // Of hi hi, emptied into `sum` after a few steps; and of the small products.
  float large[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4] = {};
  float small[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4] = {};

  __device__ void multiply(const BlockFragments<kSplit, kColumns8, kRows16>& f) {
    const auto each = [](const auto& product) {
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int j = 0; j < kColumns8; ++j) product(i, j);
    };
    if constexpr (kSplit) {
      each([&](int i, int j) {
        const unsigned hi[2] = {f.weights[j].x, f.weights[j].y};
        mma_16bit<Half>(small[i][j], f.lo[i], hi);
      });
      each([&](int i, int j) {
        const unsigned hi[2] = {f.weights[j].x, f.weights[j].y};
        mma_16bit<Half>(large[i][j], f.hi[i], hi);
      });
      each([&](int i, int j) {
        const unsigned lo[2] = {f.weights[j].z, f.weights[j].w};
        mma_16bit<Half>(small[i][j], f.hi[i], lo);
      });
    } else {
      each([&](int i, int j) {
        const unsigned hi[2] = {f.weights[j].x, f.weights[j].y};
        mma_16bit<Half>(sum[i][j], f.hi[i], hi);
      });
    }
  }
  __device__ void promote_large() {
    if constexpr (kSplit) promote(sum, large);
  }
  __device__ void finish() {
    if constexpr (kSplit) promote(sum, large), promote(sum, small);
  }
};

// The sum over all steps for 16 kRows16 rows, whose windows begin at `at`, in bytes from the first of shared
// memory. What a step needs is read a step ahead, its places two: steps take turns with two sets of
// registers. What is read past the last step is not used.
template <bool kSplit, int kColumns8, int kRows16>
__device__ inline void sum_block(const BlockPlan& q, const unsigned char* memory, const int (&at)[kRows16][2],
                                 BlockSums<kSplit, kColumns8, kRows16>& sums) {
  static_assert(kBlockGroup == 4);
  using Fragments = BlockFragments<kSplit, kColumns8, kRows16>;
  using Words = WeightWords<kSplit>;
  const int lane = static_cast<int>(threadIdx.x) % 32, low = 4 * q.view_words;
  const unsigned char* weights = memory + lane * sizeof(Words);
  const unsigned char* terms = memory + q.terms_at + lane % 4 * sizeof(int2);
  int2 term = *reinterpret_cast<const int2*>(terms);
  const auto read = [&](Fragments& f) {
#pragma unroll
    for (int j = 0; j < kColumns8; ++j)
      f.weights[j] = *reinterpret_cast<const Words*>(weights + j * 32 * sizeof(Words));
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const unsigned char* word = memory + (at[i][e % 2] + (e < 2 ? term.x : term.y));
        f.hi[i][e] = *reinterpret_cast<const unsigned*>(word);
        if constexpr (kSplit) f.lo[i][e] = *reinterpret_cast<const unsigned*>(word + low);
      }
    weights += kColumns8 * 32 * sizeof(Words), terms += 4 * sizeof(int2);
    term = *reinterpret_cast<const int2*>(terms);
  };
  Fragments even, odd;
  read(even);
  int left = q.steps;
#pragma unroll 1
  for (; left >= kBlockGroup; left -= kBlockGroup) {
    read(odd), sums.multiply(even);
    read(even), sums.multiply(odd);
    read(odd), sums.multiply(even);
    read(even), sums.multiply(odd);
    sums.promote_large();
  }
  if (left > 0) read(odd), sums.multiply(even);
  if (left > 1) read(even), sums.multiply(odd);
  if (left > 2) sums.multiply(even);
  sums.finish();
}

// How results leave a warp: staged, for windows that lie in several fragments; else from registers to the
// output, one by one, or of quads the largest of four.
enum class BlockForm { staged, plain, quads };

template <int kColumns8, int kRows16>
__device__ inline void stage_results(const BlockPlan& q, const BlockTile& tile, int fragment,
                                     const BlockUndo& undo, const float (&sum)[kRows16][kColumns8][4],
                                     float* stage) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int place = row_place(q, fragment + i, c_row(lane, 2 * half));
      if (place >= tile.places) continue;
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        float* to = stage + (8 * j + c_column(lane, 0)) * q.stage_pitch + place;
        to[0] = sum[i][j][2 * half] * undo.first * undo.second;
        to[q.stage_pitch] = sum[i][j][2 * half + 1] * undo.first * undo.second;
      }
    }
}

// The first map of a lane's results in a group of 8 columns; plain results have two maps.
template <bool kQuads>
__device__ inline int first_map_of(int j) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  return kQuads ? 4 * j + t : 8 * j + 2 * t;
}

// The larger of two, NaN if one of them is.
__device__ inline float larger(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}

template <bool kQuads, int kColumns8, int kRows16, int kAll>
__device__ inline void finish_results(const BlockShape& s, const BlockUndo& undo,
                                      const float (&bias)[kColumns8][2],
                                      const float (&sum)[kRows16][kColumns8][4], float (&v)[kAll]) {
  constexpr int kEach = kQuads ? 1 : 4;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int j = 0; j < kColumns8; ++j)
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const float(&c)[4] = sum[i][j];
        const float x = kQuads ? larger(larger(c[0], c[1]), larger(c[2], c[3])) : c[e];
        v[(i * kColumns8 + j) * kEach + e] = x * undo.first * undo.second + bias[j][e % 2];
      }
  finish_values(static_cast<Activation>(s.activation), v);
}

// `out`: the tile's first place in the block's first map.
template <bool kQuads, int kColumns8, int kRows16, class T, int kAll>
__device__ inline void store_results(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                     int fragment, int maps, const float (&v)[kAll], T* out) {
  constexpr int kEach = kQuads ? 1 : 4;
  const int lane = static_cast<int>(threadIdx.x) % 32, plane = s.out_h * s.out_w;
  out += first_map_of<kQuads>(0) * plane;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int place = row_place(q, fragment + i, c_row(lane, e));
      if (place >= tile.places) continue;
      T* to = out + (e % 2 * plane + place);
#pragma unroll
      for (int j = 0; j < kColumns8; ++j, to += (kQuads ? 4 : 8) * plane)
        if (first_map_of<kQuads>(j) + e % 2 < maps) *to = narrow<T>(v[(i * kColumns8 + j) * kEach + e]);
    }
}

// One output, from the staged results of its map.
__device__ inline float finished(const BlockShape& s, const BlockPlan& q, const BlockTile& tile, int at,
                                 float bias, const float* stage) {
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
__device__ __noinline__ void store_tile(const BlockShape& shape, const BlockPlan& plan, const BlockTile& tile,
                                        int first_map, int maps, const float* stage, const T* bias, T* y) {
  const BlockShape s = shape;
  const BlockPlan q = plan;
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
  unsigned* slots = reinterpret_cast<unsigned*>(stage + (kStaged ? q.block_maps * q.stage_pitch : 0));
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
          store_results<kQuads, kColumns8, kRows16>(s, q, tile, fragment, maps, v, out);
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
