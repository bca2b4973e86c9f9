#include "ops/cuda/index.cuh"
#include "ops/grid_sample/cuda.h"

namespace headroom::cuda {
namespace {

// A thread for each point: its weights serve all channels, and neighbours write to neighbouring places.
template <class T>
__global__ void __launch_bounds__(kThreads) by_points(GridShape s, const T* x, const T* grid, T* y) {
  using C = Compute<T>;
  for (std::int64_t i = thread_number(); i < s.images * s.points; i += thread_count()) {
    const Cut at = cut(i, s.points);
    const PointTaps<C> taps = point_taps<C>(s, [&](int axis) { return widen(grid[i * s.axes + axis]); });
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const std::int64_t map = at.whole * s.channels + c;
      const T* from = x + map * s.pixels;
      y[map * s.points + at.rest] =
          narrow<T>(sampled<C>(s, taps, [&](std::int64_t offset) { return widen(from[offset]); }));
    }
  }
}

}  // namespace

void grid_sample(DType dtype, const GridShape& s, const void* x, const void* grid, void* y,
                 cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    by_points<<<blocks_striding(s.images * s.points), kThreads, 0, stream>>>(
        s, static_cast<const T*>(x), static_cast<const T*>(grid), static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
