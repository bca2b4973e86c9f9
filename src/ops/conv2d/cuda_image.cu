// Images in shared memory, weights beside them as the tensor cores take them, and a table that says where in
// the view term k of the sum lies: fragments of the unrolled matrix are read straight from the image, which
// is never unrolled. Pixels are rows, maps are columns. Few maps leave little work per fragment read, so what
// bounds it is shared memory, and for exact fp32 the splitting and the three products.
#include "ops/conv2d/cuda.h"
#include "ops/conv2d/cuda_image.cuh"

namespace headroom::cuda {
namespace {

constexpr int kSplitSteps = 2;  // the sum is promoted after so many steps of 8

// Weights in fragment order [step][8 maps][lane], and the terms' places {k, k + 4} per step and t.
template <bool kSplit, class T>
__device__ __noinline__ void fill_weights(const Sweep& s, const ImagePlan& q, const T* w, int first_map,
                                          float2* weights, int2* terms) {
  const int threads = static_cast<int>(blockDim.x), depth = s.depth();
  const auto weight = [&](int k, int map) {
    if (k >= depth || map >= s.maps) return 0.0F;
    const int channel = k / s.taps();
    return stored<kSplit>(w[map * s.weight_map + channel * s.weight_channel + (k - channel * s.taps())]);
  };
  for (int i = static_cast<int>(threadIdx.x); i < q.steps * q.maps8 * 32; i += threads) {
    const int lane = i % 32, map = first_map + i / 32 % q.maps8 * 8 + lane / 4;
    const int k = i / 32 / q.maps8 * 8 + lane % 4;
    weights[i] = make_float2(weight(k, map), weight(k + 4, map));
  }
  for (int i = static_cast<int>(threadIdx.x); i < q.steps * 4; i += threads) {
    const int k = i / 4 * 8 + i % 4;
    terms[i] = make_int2(term_offset(s, q, k), term_offset(s, q, k + 4));
  }
}

// f(sum + bias) to the places of 16 kRows16 pixels from `first` on.
template <int kMaps8, int kRows16, class T>
__device__ inline void store(const Sweep& s, const ImagePlan& q, const Tile& tile, int group, int first_map,
                             int first, const float (&sum)[kRows16][kMaps8][4], const T* bias, T* y) {
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
          if (map >= s.maps) continue;
          const float shift = bias == nullptr ? 0.0F : widen(bias[group * s.maps + map]);
          column[map * plane] = narrow<T>(activate(s.activation, sum[i][j][2 * half + e] + shift));
        }
    }
}

template <bool kSplit, int kMaps8, int kRows16>
__global__ void __launch_bounds__(image_threads(kMaps8), kMaps8 > 2 ? 2 : 4)
    slide(DType dtype, const __grid_constant__ Sweep s, const __grid_constant__ ImagePlan q, const void* x,
          const void* w, const void* bias, void* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  float2* weights = reinterpret_cast<float2*>(memory);
  int2* terms = reinterpret_cast<int2*>(weights + q.steps * kMaps8 * 32);
  float* view = reinterpret_cast<float*>(terms + q.steps * 4);
  const int group = static_cast<int>(blockIdx.y) / q.map_blocks;
  const int first_map = (static_cast<int>(blockIdx.y) - group * q.map_blocks) * kMaps8 * 8;
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  with_type<kSplit>(dtype, [&](auto type) {
    using T = decltype(type);
    fill_weights<kSplit>(s, q, static_cast<const T*>(w) + group * s.weight_group, first_map, weights, terms);
  });

  for (int index = static_cast<int>(blockIdx.x); index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_at(s, q, index);
    __syncthreads();  // nobody reads the last tile any more
    with_type<kSplit>(dtype, [&](auto type) {
      fill_tile<kSplit>(s, q, static_cast<const decltype(type)*>(x), group, tile, view);
    });
    __syncthreads();
    for (int first = warp * kRows16 * 16; first < tile.pixels; first += warps * kRows16 * 16) {
      int at[kRows16][2];
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int pixel = first + 16 * i + 8 * half + g;
          at[i][half] = pixel_offset(s, q, pixel < tile.pixels ? pixel : tile.pixels - 1);
        }
      float acc[kRows16][kMaps8][4] = {}, sum[kRows16][kMaps8][4] = {};
      int2 next = terms[t];
#pragma unroll 1
      for (int step = 0; step < q.steps; ++step) {
        const int2 term = next;  // read a step ahead: the elements' addresses wait for it
        next = terms[4 * (step + 1 < q.steps ? step + 1 : 0) + t];
        float a[kRows16][4], b[kMaps8][2];
#pragma unroll
        for (int j = 0; j < kMaps8; ++j) {
          const float2 pair = weights[(step * kMaps8 + j) * 32 + lane];
          b[j][0] = pair.x, b[j][1] = pair.y;
        }
#pragma unroll
        for (int i = 0; i < kRows16; ++i) {
          a[i][0] = view[at[i][0] + term.x], a[i][1] = view[at[i][1] + term.x];
          a[i][2] = view[at[i][0] + term.y], a[i][3] = view[at[i][1] + term.y];
        }
        multiply<kSplit>(a, b, acc);
        if (kSplit && step % kSplitSteps == kSplitSteps - 1) promote(sum, acc);
      }
      promote(sum, acc);
      with_type<kSplit>(dtype, [&](auto type) {
        using T = decltype(type);
        store<kMaps8, kRows16>(s, q, tile, group, first_map, first, sum, static_cast<const T*>(bias),
                               static_cast<T*>(y));
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
  kernel<<<grid, image_threads(kMaps8), q.bytes, stream>>>(dtype, s, q, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

template <bool kSplit>
auto launcher(int maps8, bool small) {
  return maps8 == 1   ? (small ? launch<kSplit, 1, 1> : launch<kSplit, 1, 4>)
         : maps8 == 2 ? (small ? launch<kSplit, 2, 1> : launch<kSplit, 2, 4>)
         : maps8 == 3 ? (small ? launch<kSplit, 3, 1> : launch<kSplit, 3, 4>)
                      : (small ? launch<kSplit, 4, 1> : launch<kSplit, 4, 3>);
}

}  // namespace

void conv2d_image(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x, const void* w,
                  const void* bias, void* y, cudaStream_t stream) {
  const auto launch_it = dtype == DType::f32 && !tf32 ? launcher<true>(q.maps8, q.rows16 == 1)
                                                      : launcher<false>(q.maps8, q.rows16 == 1);
  launch_it(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
