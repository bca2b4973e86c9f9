// Any window. Forwards, one thread reads a window. Backwards, each element of the input asks the outputs
// whose windows hold it, in their order: sums without atomics, the same bits every run.
#include "ops/cuda/index.cuh"
#include "ops/pool/cuda/exceeds.cuh"
#include "ops/pool3d/cuda/windows.h"

namespace headroom::cuda {
namespace {

struct PoolPlace {
  std::int64_t volume, d, h, w;
};
__device__ PoolPlace place_of(std::int64_t flat, std::int64_t slices, std::int64_t rows,
                              std::int64_t columns) {
  const Cut w = cut(flat, columns), h = cut(w.whole, rows), d = cut(h.whole, slices);
  return {d.whole, d.rest, h.rest, w.rest};
}
__device__ PoolPlace output_place(const Window3d& w, std::int64_t flat) {
  return place_of(flat, w.depth.output, w.rows.output, w.columns.output);
}
__device__ PoolPlace input_place(const Window3d& w, std::int64_t flat) {
  return place_of(flat, w.depth.input, w.rows.input, w.columns.input);
}

// Calls body(index in the volume) for the elements of a window; returns how many divide its mean.
template <class Body>
__device__ std::int64_t each_tap(const Pool3d& p, const PoolPlace& at, Body&& body) {
  const Window3d& w = p.window;
  const PoolTaps depth = pool_taps(w.depth, at.d, p.count_include_pad),
                 rows = pool_taps(w.rows, at.h, p.count_include_pad),
                 columns = pool_taps(w.columns, at.w, p.count_include_pad);
  for (std::int64_t d = 0; d < depth.count; ++d)
    for (std::int64_t h = 0; h < rows.count; ++h) {
      const std::int64_t slice = depth.begin + d * w.depth.dilation, row = rows.begin + h * w.rows.dilation;
      std::int64_t at_column = (slice * w.rows.input + row) * w.columns.input + columns.begin;
      for (std::int64_t k = 0; k < columns.count; ++k, at_column += w.columns.dilation) body(at_column);
    }
  const std::int64_t shared = depth.shared * rows.shared * columns.shared;
  return shared > 0 ? shared : 1;
}

// The outputs whose windows may hold an element: first … last.
struct Readers {
  std::int64_t first, last;
};
__device__ Readers readers_of(const WindowAxis& a, std::int64_t at) {
  const std::int64_t reach = (a.kernel - 1) * a.dilation, from = at + a.pad, last = from / a.stride;
  return {from <= reach ? 0 : (from - reach + a.stride - 1) / a.stride,
          last < a.output ? last : a.output - 1};
}
__device__ bool holds(const WindowAxis& a, std::int64_t i, std::int64_t at) {
  return a.dilation == 1 || (at + a.pad - i * a.stride) % a.dilation == 0;
}

template <class Body>
__device__ void each_reader(const Window3d& w, const PoolPlace& at, Body&& body) {
  const Readers depth = readers_of(w.depth, at.d), rows = readers_of(w.rows, at.h),
                columns = readers_of(w.columns, at.w);
  for (std::int64_t d = depth.first; d <= depth.last; ++d) {
    if (!holds(w.depth, d, at.d)) continue;
    for (std::int64_t h = rows.first; h <= rows.last; ++h) {
      if (!holds(w.rows, h, at.h)) continue;
      for (std::int64_t v = columns.first; v <= columns.last; ++v)
        if (holds(w.columns, v, at.w)) body(PoolPlace{at.volume, d, h, v});
    }
  }
}

__device__ std::int64_t flat_output(const Window3d& w, const PoolPlace& at) {
  return ((at.volume * w.depth.output + at.d) * w.rows.output + at.h) * w.columns.output + at.w;
}

// Writes the maximum, its place in the volume, or both.
template <class T>
__global__ void __launch_bounds__(kThreads)
    max_windows(const __grid_constant__ Pool3d p, const T* x, T* y, std::int64_t* places) {
  using C = Compute<T>;
  for (std::int64_t o = thread_number(); o < p.volumes * p.window.outputs(); o += thread_count()) {
    const PoolPlace at = output_place(p.window, o);
    const T* volume = x + at.volume * p.window.inputs();
    C best = -static_cast<C>(INFINITY);
    std::int64_t place = -1;
    each_tap(p, at, [&](std::int64_t i) {
      const C next = widen(volume[i]);
      if (place < 0 || exceeds(next, best)) best = next, place = i;
    });
    if (y != nullptr) y[o] = narrow<T>(best);
    if (places != nullptr) places[o] = place;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) mean_windows(const __grid_constant__ Pool3d p, const T* x, T* y) {
  using C = Compute<T>;
  for (std::int64_t o = thread_number(); o < p.volumes * p.window.outputs(); o += thread_count()) {
    const PoolPlace at = output_place(p.window, o);
    const T* volume = x + at.volume * p.window.inputs();
    C sum = 0;
    const std::int64_t divisor = each_tap(p, at, [&](std::int64_t i) { sum += widen(volume[i]); });
    y[o] = narrow<T>(sum / static_cast<C>(divisor));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_windows_grad(const __grid_constant__ Pool3d p, const T* dy, const std::int64_t* places, T* dx) {
  for (std::int64_t i = thread_number(); i < p.volumes * p.window.inputs(); i += thread_count()) {
    const PoolPlace at = input_place(p.window, i);
    const std::int64_t here = i - at.volume * p.window.inputs();
    Compute<T> sum = 0;
    each_reader(p.window, at, [&](const PoolPlace& reader) {
      const std::int64_t o = flat_output(p.window, reader);
      if (places[o] == here) sum += widen(dy[o]);
    });
    dx[i] = narrow<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    mean_windows_grad(const __grid_constant__ Pool3d p, const T* dy, T* dx) {
  using C = Compute<T>;
  for (std::int64_t i = thread_number(); i < p.volumes * p.window.inputs(); i += thread_count()) {
    const PoolPlace at = input_place(p.window, i);
    C sum = 0;
    each_reader(p.window, at, [&](const PoolPlace& reader) {
      const std::int64_t shared = pool_taps(p.window.depth, reader.d, p.count_include_pad).shared *
                                  pool_taps(p.window.rows, reader.h, p.count_include_pad).shared *
                                  pool_taps(p.window.columns, reader.w, p.count_include_pad).shared;
      sum += widen(dy[flat_output(p.window, reader)]) / static_cast<C>(shared > 0 ? shared : 1);
    });
    dx[i] = narrow<T>(sum);
  }
}

unsigned output_blocks(const Pool3d& p) { return blocks_striding(p.volumes * p.window.outputs()); }
unsigned input_blocks(const Pool3d& p) { return blocks_striding(p.volumes * p.window.inputs()); }

}  // namespace

void max_pool3d(DType dtype, const Pool3d& p, const void* x, void* y, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    max_windows<T>
        <<<output_blocks(p), kThreads, 0, stream>>>(p, static_cast<const T*>(x), static_cast<T*>(y), nullptr);
    HEADROOM_CUDA_LAUNCHED();
  });
}

void mean_pool3d(DType dtype, const Pool3d& p, const void* x, void* y, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    mean_windows<T>
        <<<output_blocks(p), kThreads, 0, stream>>>(p, static_cast<const T*>(x), static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void max_pool3d_grad(DType dtype, const Pool3d& p, const void* dy, const void* x, std::int64_t* places,
                     void* dx, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    max_windows<T><<<output_blocks(p), kThreads, 0, stream>>>(p, static_cast<const T*>(x),
                                                              static_cast<T*>(nullptr), places);
    HEADROOM_CUDA_LAUNCHED();
    max_windows_grad<T>
        <<<input_blocks(p), kThreads, 0, stream>>>(p, static_cast<const T*>(dy), places, static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void mean_pool3d_grad(DType dtype, const Pool3d& p, const void* dy, void* dx, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    mean_windows_grad<T>
        <<<input_blocks(p), kThreads, 0, stream>>>(p, static_cast<const T*>(dy), static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
