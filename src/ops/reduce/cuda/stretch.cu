#include "ops/cuda/index.cuh"
#include "ops/cuda/map.cuh"
#include "ops/reduce/cuda/stretch.h"

namespace headroom::cuda {
namespace {

// kV neighbours of the innermost axis, which either moves in x or stands still.
template <class T, int kV>
__global__ void __launch_bounds__(kThreads)
    stretch(Loop loop, std::int64_t groups, Compute<T> scale, const T* x, T* y) {
  const bool moves = loop.step[loop.rank - 1][0] != 0;
  for (std::int64_t g = thread_number(); g < groups; g += thread_count()) {
    std::int64_t at[1];
    offsets_at<1>(loop, g * kV, at);
    Pack<T, kV> out;
    if (moves) {
      out = *reinterpret_cast<const Pack<T, kV>*>(x + at[0]);
#pragma unroll
      for (int v = 0; v < kV; ++v) out.v[v] = narrow<T>(scale * widen(out.v[v]));
    } else {
      const T value = narrow<T>(scale * widen(x[at[0]]));
#pragma unroll
      for (int v = 0; v < kV; ++v) out.v[v] = value;
    }
    reinterpret_cast<Pack<T, kV>*>(y)[g] = out;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) move(const __grid_constant__ Loop loop, const T* x, T* y) {
  for (std::int64_t i = thread_number(); i < loop.numel; i += thread_count()) {
    std::int64_t at[1];
    offsets_at<1>(loop, i, at);
    y[i] = x[at[0]];
  }
}

}  // namespace

void stretch_bytes(int element_bytes, const Loop& loop, const void* x, void* y, cudaStream_t stream) {
  dispatch_sizes(element_bytes, [&]<class T>() {
    move<<<blocks_striding(loop.numel), kThreads, 0, stream>>>(loop, static_cast<const T*>(x),
                                                               static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void expand(DType dtype, const Loop& loop, double scale, const void* x, void* y, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const auto factor = static_cast<Compute<T>>(scale);
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    // Where x moves along the last axis, its other steps are multiples of that axis, or 0.
    if (loop.extent[loop.rank - 1] % kPack<T> == 0 && aligned(x) && aligned(y))
      stretch<T, kPack<T>><<<blocks_striding(loop.numel / kPack<T>), kThreads, 0, stream>>>(
          loop, loop.numel / kPack<T>, factor, from, to);
    else
      stretch<T, 1><<<blocks_striding(loop.numel), kThreads, 0, stream>>>(loop, loop.numel, factor, from, to);
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
