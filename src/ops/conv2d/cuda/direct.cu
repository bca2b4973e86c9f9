// A thread per pixel and few maps, sums in registers. Takes every shape and type; meant for depthwise layers
// and for what the products on the tensor cores refuse.
#include "ops/conv2d/cuda/device.cuh"

namespace headroom::cuda {
namespace {

// kMaps maps of one group at one pixel. All threads of a block have the same maps: weights are broadcast from
// the L1 cache.
template <class T, int kMaps>
__global__ void slide(const __grid_constant__ Sweep s, int map_blocks, const T* __restrict__ x,
                      const T* __restrict__ w, const T* __restrict__ bias, T* __restrict__ y) {
  using C = Compute<T>;
  const int maps_at = static_cast<int>(blockIdx.x % static_cast<unsigned>(s.groups * map_blocks));
  const int group = maps_at / map_blocks, first_map = (maps_at - group * map_blocks) * kMaps;
  const std::int64_t plane = s.out_plane(), in_plane = s.in_plane();
  const std::int64_t pixel =
      std::int64_t{blockIdx.x / static_cast<unsigned>(s.groups * map_blocks)} * blockDim.x + threadIdx.x;
  if (pixel >= s.pixels()) return;
  const std::int64_t n = pixel / plane;
  const int rest = static_cast<int>(pixel - n * plane), row = rest / s.out_w, column = rest - row * s.out_w;
  const T* image = x + (n * s.groups + group) * s.channels * in_plane;
  const T* weights[kMaps];
#pragma unroll
  for (int m = 0; m < kMaps; ++m) {  // those past the end repeat the last, and are not stored
    const int map = first_map + m < s.maps ? first_map + m : s.maps - 1;
    weights[m] = w + group * s.weight_group + map * s.weight_map;
  }
  C sum[kMaps] = {};
  for (int i = 0; i < s.kernel_h; ++i) {
    const int h = source(row * s.mul_h + s.off_h + i * s.step_h, s.div_h, s.in_h);
    if (h < 0) continue;
    for (int j = 0; j < s.kernel_w; ++j) {
      const int v = source(column * s.mul_w + s.off_w + j * s.step_w, s.div_w, s.in_w);
      if (v < 0) continue;
      const T* from = image + std::int64_t{h} * s.in_w + v;
      std::int64_t at = i * s.kernel_w + j;
#pragma unroll 4
      for (int c = 0; c < s.channels; ++c, from += in_plane, at += s.weight_channel) {
        const C value = widen(*from);
#pragma unroll
        for (int m = 0; m < kMaps; ++m) sum[m] += value * widen(weights[m][at]);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kMaps; ++m) {
    const int map = group * s.maps + first_map + m;
    if (first_map + m >= s.maps) break;
    const C shift = bias == nullptr ? C{0} : widen(bias[map]);
    y[(n * s.groups * s.maps + map) * plane + rest] = narrow<T>(activate(s.activation, sum[m] + shift));
  }
}

}  // namespace

void conv2d_direct(DType dtype, const Sweep& s, const void* x, const void* w, const void* bias, void* y,
                   cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const auto run = [&](auto kernel, int maps) {
      const int map_blocks = (s.maps + maps - 1) / maps;
      const unsigned blocks = blocks_for(blocks_for(s.pixels()) * std::int64_t{s.groups} * map_blocks, 1);
      kernel<<<blocks, kThreads, 0, stream>>>(s, map_blocks, static_cast<const T*>(x),
                                              static_cast<const T*>(w), static_cast<const T*>(bias),
                                              static_cast<T*>(y));
      HEADROOM_CUDA_LAUNCHED();
    };
    if (s.maps == 1)
      run(slide<T, 1>, 1);
    else
      run(slide<T, 4>, 4);
  });
}

}  // namespace headroom::cuda
