// The naive kernel with unrolled loops over the window: no counters, no compares, addresses that differ by
// constants, and loads that the compiler may move because nothing they read is written.
#include "ops/conv2d/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

__constant__ __align__(16) unsigned char filters[65536];

template <bool kConstant, class T>
__device__ inline float filter(const T* w, int at) {
  if constexpr (kConstant)
    return widen(reinterpret_cast<const T*>(filters)[at]);
  else
    return widen(w[at]);
}

// kCoarsen maps of one group at one pixel: each element of the image is read once for all of them.
template <class T, bool kConstant, int kWindow, int kCoarsen>
__global__ void slide_unrolled(const __grid_constant__ Sweep s, int tiles_across, int map_blocks,
                               const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                               T* __restrict__ y) {
  const int group = static_cast<int>(blockIdx.y) / map_blocks, tile = static_cast<int>(blockIdx.z);
  const int first_map = (static_cast<int>(blockIdx.y) - group * map_blocks) * kCoarsen;
  const int row = tile / tiles_across * static_cast<int>(blockDim.y) + static_cast<int>(threadIdx.y);
  const int column = tile % tiles_across * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  if (row >= s.out_h || column >= s.out_w) return;
  const T* image = x + (std::int64_t{blockIdx.x} * s.groups + group) * s.channels * s.in_plane();
  int weights[kCoarsen];
#pragma unroll
  for (int m = 0; m < kCoarsen; ++m)  // those past the end repeat the last, and are not stored
    weights[m] = weights_at(s, group * s.maps + min(first_map + m, s.maps - 1));
  float sum[kCoarsen] = {};
  for (int c = 0; c < s.channels; ++c, image += s.in_plane())
#pragma unroll
    for (int i = 0; i < kWindow; ++i) {
      const int h = source(row * s.mul_h + s.off_h + i * s.step_h, s.div_h, s.in_h);
#pragma unroll
      for (int j = 0; j < kWindow; ++j) {
        const int v = source(column * s.mul_w + s.off_w + j * s.step_w, s.div_w, s.in_w);
        if (h < 0 || v < 0) continue;
        const float value = widen(image[h * s.in_w + v]);
#pragma unroll
        for (int m = 0; m < kCoarsen; ++m)
          sum[m] += value * filter<kConstant>(
                                w, weights[m] + c * static_cast<int>(s.weight_channel) + i * kWindow + j);
      }
    }
#pragma unroll
  for (int m = 0; m < kCoarsen; ++m) {
    if (first_map + m >= s.maps) break;
    const int map = group * s.maps + first_map + m;
    const float shift = bias == nullptr ? 0.0F : widen(bias[map]);
    y[(std::int64_t{blockIdx.x} * s.groups * s.maps + map) * s.out_plane() + row * s.out_w + column] =
        narrow<T>(activate(s.activation, sum[m] + shift));
  }
}

// Calls use(kernel) with the instance for these numbers, which accepts and prepare have checked.
template <class T, bool kConstant, int kWindow, class Use>
void with_coarsen(int coarsen, const Use& use) {
  if (coarsen == 4) return use(slide_unrolled<T, kConstant, kWindow, 4>);
  if (coarsen == 2) return use(slide_unrolled<T, kConstant, kWindow, 2>);
  use(slide_unrolled<T, kConstant, kWindow, 1>);
}
template <class T, bool kConstant, class Use>
void with_window(int window, int coarsen, const Use& use) {
  switch (window) {
    case 1:
      return with_coarsen<T, kConstant, 1>(coarsen, use);
    case 3:
      return with_coarsen<T, kConstant, 3>(coarsen, use);
    case 5:
      return with_coarsen<T, kConstant, 5>(coarsen, use);
    case 7:
      return with_coarsen<T, kConstant, 7>(coarsen, use);
    case 9:
      return with_coarsen<T, kConstant, 9>(coarsen, use);
    default:
      return with_coarsen<T, kConstant, 11>(coarsen, use);
  }
}
// fp16 is always with constant filters.
template <class Use>
void with_instance(DType dtype, bool constant, int window, int coarsen, const Use& use) {
  if (dtype == DType::f16) return with_window<Half, true>(window, coarsen, use);
  if (constant) return with_window<float, true>(window, coarsen, use);
  with_window<float, false>(window, coarsen, use);
}

}  // namespace

int conv2d_unrolled_taps_threads(DType dtype, bool constant, int coarsen, int window) {
  int threads = 0;
  with_instance(dtype, constant, window, coarsen, [&](auto* kernel) {
    cudaFuncAttributes attributes;
    HEADROOM_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    threads = attributes.maxThreadsPerBlock;
  });
  return threads;
}

void conv2d_unrolled_taps(DType dtype, bool constant, int block, int coarsen, const Sweep& s, const void* x,
                          const void* w, const void* bias, void* y, cudaStream_t stream) {
  if (constant)
    HEADROOM_CUDA_CHECK(cudaMemcpyToSymbolAsync(
        filters, w, (dtype == DType::f16 ? 2 : 4) * static_cast<std::size_t>(s.groups * s.weight_group), 0,
        cudaMemcpyDeviceToDevice, stream));
  const int across = (s.out_w + block - 1) / block, down = (s.out_h + block - 1) / block;
  const int map_blocks = (s.maps + coarsen - 1) / coarsen;
  const dim3 threads(static_cast<unsigned>(block), static_cast<unsigned>(block));
  const dim3 grid(static_cast<unsigned>(s.batch), static_cast<unsigned>(s.groups * map_blocks),
                  static_cast<unsigned>(across * down));
  with_instance(dtype, constant, s.kernel_h, coarsen,
                [&]<class T>(void (*kernel)(Sweep, int, int, const T*, const T*, const T*, T*)) {
                  kernel<<<grid, threads, 0, stream>>>(s, across, map_blocks, static_cast<const T*>(x),
                                                       static_cast<const T*>(w), static_cast<const T*>(bias),
                                                       static_cast<T*>(y));
                  HEADROOM_CUDA_LAUNCHED();
                });
}

}  // namespace headroom::cuda
