// Bias and activation in place, after a product of the library. Memory is the bound: y is read and written
// once, in NHWC 16 bytes at a time where the maps are whole packs.
#include "ops/conv2d/cuda/device.cuh"
#include "ops/conv2d/cudnn/device.h"
#include "ops/cuda/finish.cuh"
#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

template <class T, int kV>
__global__ void __launch_bounds__(kThreads)
    finish_rows(std::int64_t packs, int across, int activation, const T* bias, T* y) {
  using P = Pack<T, kV>;
  constexpr int kDeep = 2;
  for (std::int64_t first = thread_number(); first < packs; first += kDeep * thread_count()) {
    P x[kDeep];
#pragma unroll
    for (int u = 0; u < kDeep; ++u)
      if (const std::int64_t i = first + u * thread_count(); i < packs)
        x[u] = reinterpret_cast<const P*>(y)[i];
#pragma unroll
    for (int u = 0; u < kDeep; ++u) {
      const std::int64_t i = first + u * thread_count();
      if (i >= packs) break;
      P b{};
      if (bias != nullptr) b = reinterpret_cast<const P*>(bias)[cut(i, across).rest];
      Compute<T> v[kV];
#pragma unroll
      for (int k = 0; k < kV; ++k)
        v[k] = widen(x[u].v[k]) + (bias != nullptr ? widen(b.v[k]) : Compute<T>{0});
      finish_values(static_cast<Activation>(activation), v);
#pragma unroll
      for (int k = 0; k < kV; ++k) x[u].v[k] = narrow<T>(v[k]);
      reinterpret_cast<P*>(y)[i] = x[u];
    }
  }
}

template <class T>
__global__ void finish(std::int64_t n, std::int64_t plane, int maps, int activation, const T* bias, T* y) {
  using C = Compute<T>;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const C shift = bias == nullptr ? C{0} : widen(bias[i / plane % maps]);
    y[i] = narrow<T>(activate(activation, widen(y[i]) + shift));
  }
}

}  // namespace

void conv2d_finish(DType dtype, const Sweep& s, const void* bias, void* y, cudaStream_t stream) {
  if (bias == nullptr && s.activation == 0) return;
  const int maps = s.groups * s.maps;
  const std::int64_t n = s.pixels() * maps;
  const unsigned blocks = blocks_for(n, 4 * kThreads);
  dispatch_floats(dtype, [&]<class T>() {
    finish<<<blocks, kThreads, 0, stream>>>(n, s.out_plane(), maps, s.activation, static_cast<const T*>(bias),
                                            static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void conv2d_finish_rows(DType dtype, std::int64_t rows, int maps, int activation, const void* bias, void* y,
                        cudaStream_t stream) {
  if (bias == nullptr && activation == 0) return;
  dispatch_floats(dtype, [&]<class T>() {
    constexpr int kV = kPack<T>;
    const auto* b = static_cast<const T*>(bias);
    auto* out = static_cast<T*>(y);
    if (maps % kV == 0 && aligned(y) && aligned(bias)) {
      const std::int64_t packs = rows * (maps / kV);
      finish_rows<T, kV>
          <<<blocks_striding(packs), kThreads, 0, stream>>>(packs, maps / kV, activation, b, out);
    } else {
      finish_rows<T, 1>
          <<<blocks_striding(rows * maps), kThreads, 0, stream>>>(rows * maps, maps, activation, b, out);
    }
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
