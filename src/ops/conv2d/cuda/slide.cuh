#pragma once

// Images in shared memory, weights beside them as the tensor cores take them, and a table that says where in
// the view term k of the sum lies: fragments of the unrolled matrix are read straight from the image, which
// is never unrolled. Pixels are rows, maps are columns. Few maps leave little work per fragment read, so what
// bounds it is shared memory, and for exact fp32 the splitting and the three products.

#include "ops/conv2d/cuda/image_mma.cuh"

namespace headroom::cuda {

// Compiled in image_mma_rounded.cu: the products for tf32 and 16 bits.
void conv2d_image_mma_rounded(DType dtype, const Sweep& s, const ImagePlan& q, const void* x, const void* w,
                              const void* bias, void* y, cudaStream_t stream);

namespace {

// Weights in fragment order [step][8 maps][lane]{k, k + 4}, and the terms' places {k, k + 4} per step and t.
// A thread keeps its lane, and goes from fragment to fragment without a division but that by taps.
template <bool kSplit, class T>
__device__ __noinline__ void fill_weights(const Sweep& s, const ImagePlan& q, const T* w, int first_map,
                                          float2* weights, int2* terms) {
  constexpr int kAhead = 4;
  const int depth = s.depth(), taps = s.taps(), maps = s.maps, maps8 = q.maps8,
            fragments = q.steps * maps8;  // in registers: see fill_view
  const int weight_map = static_cast<int>(s.weight_map), weight_channel = static_cast<int>(s.weight_channel);
  const Divide by_taps = q.by_taps;
  const int lane = static_cast<int>(threadIdx.x) % 32, warps = static_cast<int>(blockDim.x) / 32;
  const int steps_on = warps / maps8, groups_on = warps - steps_on * maps8;
  int fragment = static_cast<int>(threadIdx.x) / 32, step = fragment / maps8, group = fragment - step * maps8;
  const auto weight = [&](int map, int k) {
    const int channel = quotient(k, by_taps);
    return map < maps && k < depth
               ? stored<kSplit>(w[map * weight_map + channel * weight_channel + (k - channel * taps)])
               : 0.0F;
  };
#pragma unroll 1
  while (fragment < fragments) {
    float2 value[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const int map = first_map + group * 8 + lane / 4, k = step * 8 + lane % 4;
      value[u] = make_float2(weight(map, k), weight(map, k + 4));
      step += steps_on, group += groups_on;
      if (group >= maps8) group -= maps8, ++step;
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u, fragment += warps)
      if (fragment < fragments) weights[fragment * 32 + lane] = value[u];
  }
  for (int i = static_cast<int>(threadIdx.x); i < q.steps * 4; i += static_cast<int>(blockDim.x)) {
    const int k = i / 4 * 8 + i % 4;
    terms[i] = make_int2(term_offset(s, q, k), term_offset(s, q, k + 4));
  }
}

// The sum over all steps for 16 kRows16 pixels, whose windows begin at `at`. What a step needs is read a step
// ahead, its places two. Split: the unit's sums are fresh every second step, for it cuts instead of rounding;
// one fragment alone has several of them, lest products wait for one another.
template <bool kSplit, int kMaps8, int kRows16>
__device__ inline void sum_steps(const ImagePlan& q, const float2* weights, const int2* terms,
                                 const float* view, const int (&at)[kRows16][2],
                                 float (&sum)[kRows16][kMaps8][4]) {
  constexpr int kSets = kSplit ? (kRows16 == 1 ? 3 : 1) : 0;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  weights += lane, terms += lane % 4;
  float a[kRows16][4], b[kMaps8][2];
  const auto read = [&](int step, const int2& term, float(&x)[kRows16][4], float(&y)[kMaps8][2]) {
#pragma unroll
    for (int j = 0; j < kMaps8; ++j) {
      const float2 pair = weights[(step * kMaps8 + j) * 32];
      y[j][0] = pair.x, y[j][1] = pair.y;
    }
#pragma unroll
    for (int i = 0; i < kRows16; ++i) {
      x[i][0] = view[at[i][0] + term.x], x[i][1] = view[at[i][1] + term.x];
      x[i][2] = view[at[i][0] + term.y], x[i][3] = view[at[i][1] + term.y];
    }
  };
  read(0, terms[0], a, b);
  int2 term = terms[4];
#pragma unroll 1
  for (int first = 0; first < q.steps; first += kImageGroup) {
    float acc[kSets > 0 ? kSets : 1][kRows16][kMaps8][4] = {};
#pragma unroll
    for (int u = 0; u < kImageGroup; ++u) {
      const auto ahead = [&](int by) {  // past the end: anything
        return u + by < kImageGroup || first + u + by < q.steps ? first + u + by : 0;
      };
      float next_a[kRows16][4], next_b[kMaps8][2];
      read(ahead(1), term, next_a, next_b);
      term = terms[4 * ahead(2)];
      multiply_by<kSplit>(a, b, [&](int which, int i, int j, const unsigned(&x)[4], const unsigned(&y)[2]) {
        mma_tf32(kSets == 0 ? sum[i][j] : acc[kSets < 3 ? 0 : which == 0 ? u % 2 : 2][i][j], x, y);
      });
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) a[i][e] = next_a[i][e];
#pragma unroll
      for (int j = 0; j < kMaps8; ++j) b[j][0] = next_b[j][0], b[j][1] = next_b[j][1];
      if constexpr (kSets == 1)
        if (u % 2 == 1) promote(sum, acc[0]);
    }
    if constexpr (kSets == 3) promote(acc[0], acc[2]), promote(acc[0], acc[1]), promote(sum, acc[0]);
  }
}

// sum = f(sum + bias). `bias` points at the first map of the group.
template <int kMaps8, int kRows16, class T>
__device__ inline void add_bias(const Sweep& s, int first_map, const T* bias,
                                float (&sum)[kRows16][kMaps8][4]) {
#pragma unroll
  for (int j = 0; j < kMaps8; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int map = first_map + 8 * j + static_cast<int>(threadIdx.x) % 4 * 2 + e;
      const float shift = map < s.maps ? widen(bias[map]) : 0.0F;
#pragma unroll
      for (int i = 0; i < kRows16; ++i) sum[i][j][e] += shift, sum[i][j][2 + e] += shift;
    }
}
template <int kMaps8, int kRows16>
__device__ inline void activate_all(int kind, float (&sum)[kRows16][kMaps8][4]) {
  if (kind == 0) return;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int j = 0; j < kMaps8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[i][j][e] = activate(kind, sum[i][j][e]);
}

// To the places of 16 kRows16 pixels from `first` on.
template <int kMaps8, int kRows16, class T>
__device__ inline void store(const Sweep& s, const ImagePlan& q, const Tile& tile, int group, int first_map,
                             int first, const float (&sum)[kRows16][kMaps8][4], T* y) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const std::int64_t plane = s.out_plane();
  T* out = y + (std::int64_t{tile.first_image} * s.groups + group) * s.maps * plane +
           std::int64_t{tile.first_row} * s.out_w;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = first + 16 * i + 8 * half + g;
      if (pixel >= tile.pixels) continue;
      const int image = q.images > 1 ? quotient(pixel, q.by_pixels) : 0;
      T* column = out + std::int64_t{image} * s.groups * s.maps * plane +
                  (pixel - image * static_cast<int>(q.by_pixels.by));
#pragma unroll
      for (int j = 0; j < kMaps8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int map = first_map + 8 * j + 2 * t + e;
          if (map < s.maps) column[map * plane] = narrow<T>(sum[i][j][2 * half + e]);
        }
    }
}

template <bool kSplit, int kMaps8, int kRows16>
__global__ void __launch_bounds__(image_block(image_threads(kSplit, kMaps8, kRows16)),
                                  image_threads(kSplit, kMaps8, kRows16) > 512 ? 2 : 1)
    slide(DType dtype, const __grid_constant__ Sweep s, const __grid_constant__ ImagePlan q, const void* x,
          const void* w, const void* bias, void* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  float2* weights = reinterpret_cast<float2*>(memory);
  int2* terms = reinterpret_cast<int2*>(weights + q.steps * kMaps8 * 32);
  float* view = reinterpret_cast<float*>(terms + q.steps * 4);
  const int group = static_cast<int>(blockIdx.y) / q.map_blocks;
  const int first_map = (static_cast<int>(blockIdx.y) - group * q.map_blocks) * kMaps8 * 8;
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int g = static_cast<int>(threadIdx.x) % 32 / 4;
  const auto fill_with = [&](const Tile& tile) {
    with_type<kSplit>(dtype, [&](auto type) {
      fill_tile<kSplit>(s, q, static_cast<const decltype(type)*>(x), group, tile, view);
    });
  };
  const int begin = static_cast<int>(blockIdx.x);
  fill_with(tile_at(s, q, begin));  // under way while the weights are read
  with_type<kSplit>(dtype, [&](auto type) {
    using T = decltype(type);
    fill_weights<kSplit>(s, q, static_cast<const T*>(w) + group * s.weight_group, first_map, weights, terms);
  });

  for (int index = begin; index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_at(s, q, index);
    if (index > begin) {
      __syncthreads();  // nobody reads the last tile any more
      fill_with(tile);
    }
    arrived();
#pragma unroll 1
    for (int first = warp * kRows16 * 16; first < tile.pixels; first += warps * kRows16 * 16) {
      int at[kRows16][2];
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int pixel = first + 16 * i + 8 * half + g;
          at[i][half] = pixel_offset(s, q, pixel < tile.pixels ? pixel : tile.pixels - 1);
        }
      float sum[kRows16][kMaps8][4] = {};
      sum_steps<kSplit>(q, weights, terms, view, at, sum);
      if (bias != nullptr)
        with_type<kSplit>(dtype, [&](auto type) {
          using T = decltype(type);
          add_bias(s, first_map, static_cast<const T*>(bias) + group * s.maps, sum);
        });
      activate_all(s.activation, sum);
      with_type<kSplit>(dtype, [&](auto type) {
        using T = decltype(type);
        store(s, q, tile, group, first_map, first, sum, static_cast<T*>(y));
      });
    }
  }
}

template <bool kSplit, int kMaps8, int kRows16>
void launch(DType dtype, const Sweep& s, const ImagePlan& q, const void* x, const void* w, const void* bias,
            void* y, cudaStream_t stream) {
  const auto kernel = slide<kSplit, kMaps8, kRows16>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(s.groups * q.map_blocks));
  kernel<<<grid, q.threads, q.bytes, stream>>>(dtype, s, q, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

template <bool kSplit>
auto launcher(int maps8, bool small) {
  constexpr int kRows = image_rows16(kSplit, 1), kRowsOf4 = image_rows16(kSplit, 4);
  return maps8 == 1   ? (small ? launch<kSplit, 1, 1> : launch<kSplit, 1, kRows>)
         : maps8 == 2 ? (small ? launch<kSplit, 2, 1> : launch<kSplit, 2, kRows>)
         : maps8 == 3 ? (small ? launch<kSplit, 3, 1> : launch<kSplit, 3, kRows>)
                      : (small ? launch<kSplit, 4, 1> : launch<kSplit, 4, kRowsOf4>);
}

}  // namespace
}  // namespace headroom::cuda
