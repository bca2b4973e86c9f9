// Any window. Forwards, one thread reads a window, or a warp where windows are large; neighbours read the
// same lines from the first cache. Backwards, each element of the input asks the outputs whose windows hold
// it, in their order: sums without atomics, the same bits every run.
#include "ops/cuda/index.cuh"
#include "ops/pool/cuda/windows.cuh"
#include "ops/pool/cuda/windows.h"

namespace headroom::cuda {
namespace {

constexpr int kLargeWindow = 64;  // elements

struct Place {
  std::int64_t plane;
  int row, column;
};
__device__ Place place_of(std::int64_t flat, int height, int width) {
  const Cut row = cut(flat, width), plane = cut(row.whole, height);
  return {plane.whole, static_cast<int>(plane.rest), static_cast<int>(row.rest)};
}

// kLanes threads for one window, which take turns in row order; body(offset in the plane).
template <int kLanes, class Body>
__device__ void each_tap(const Taps& rows, const Taps& columns, int width, int lane, Body&& body) {
  if constexpr (kLanes == 1) {
    for (int r = 0; r < rows.count; ++r)
      for (int c = 0; c < columns.count; ++c)
        body((rows.begin + r * rows.step) * width + columns.begin + c * columns.step);
  } else {
    const int taps = rows.count * columns.count;
    for (int k = lane; k < taps; k += kLanes) {
      const int r = k / columns.count, c = k - r * columns.count;
      body((rows.begin + r * rows.step) * width + columns.begin + c * columns.step);
    }
  }
}

// Writes the maximum, its place in the plane, or both.
template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads)
    max_windows(Pool p, std::int64_t outputs, const T* x, T* y, int* places) {
  const std::int64_t input_plane = std::int64_t{p.rows.input} * p.columns.input;
  const int lane = threadIdx.x % kLanes;
  for (std::int64_t o = thread_number() / kLanes; o < outputs; o += thread_count() / kLanes) {
    const Place at = place_of(o, p.rows.output, p.columns.output);
    const T* plane = x + at.plane * input_plane;
    Best<Compute<T>> best;
    each_tap<kLanes>(taps_of(p.rows, at.row, false), taps_of(p.columns, at.column, false), p.columns.input,
                     lane, [&](int k) { best.see(widen(plane[k]), k); });
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      best.join({__shfl_xor_sync(0xFFFFFFFFu, best.value, distance),
                 __shfl_xor_sync(0xFFFFFFFFu, best.at, distance)});
    if (lane != 0) continue;
    if (y != nullptr) y[o] = narrow<T>(best.value);
    if (places != nullptr) places[o] = best.at;
  }
}

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) mean_windows(Pool p, std::int64_t outputs, const T* x, T* y) {
  using C = Compute<T>;
  const std::int64_t input_plane = std::int64_t{p.rows.input} * p.columns.input;
  const int lane = threadIdx.x % kLanes;
  for (std::int64_t o = thread_number() / kLanes; o < outputs; o += thread_count() / kLanes) {
    const Place at = place_of(o, p.rows.output, p.columns.output);
    const T* plane = x + at.plane * input_plane;
    const Taps rows = taps_of(p.rows, at.row, p.count_include_pad),
               columns = taps_of(p.columns, at.column, p.count_include_pad);
    C sum = 0;
    each_tap<kLanes>(rows, columns, p.columns.input, lane, [&](int k) { sum += widen(plane[k]); });
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
    const std::int64_t shared = std::int64_t{rows.shared} * columns.shared;
    if (lane == 0) y[o] = narrow<T>(sum / static_cast<C>(shared > 0 ? shared : 1));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_windows_grad(Pool p, std::int64_t inputs, const T* dy, const T* x, const int* places, T* dx) {
  const std::int64_t output_plane = std::int64_t{p.rows.output} * p.columns.output;
  for (std::int64_t n = thread_number(); n < inputs; n += thread_count()) {
    const Place at = place_of(n, p.rows.input, p.columns.input);
    const int here = at.row * p.columns.input + at.column;
    const Span rows = outputs_of(p.rows, at.row), columns = outputs_of(p.columns, at.column);
    Compute<T> sum = 0;
    for (int i = rows.first; i <= rows.last; ++i)
      for (int j = columns.first; j <= columns.last; ++j) {
        const std::int64_t o = at.plane * output_plane + std::int64_t{i} * p.columns.output + j;
        if (places[o] == here) sum += widen(dy[o]);
      }
    if (p.slope != 0) sum = sloped(p.slope, sum, Compute<T>{widen(x[n])});
    dx[n] = narrow<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    mean_windows_grad(Pool p, std::int64_t inputs, const T* dy, T* dx) {
  using C = Compute<T>;
  const std::int64_t output_plane = std::int64_t{p.rows.output} * p.columns.output;
  for (std::int64_t n = thread_number(); n < inputs; n += thread_count()) {
    const Place at = place_of(n, p.rows.input, p.columns.input);
    const Span rows = outputs_of(p.rows, at.row), columns = outputs_of(p.columns, at.column);
    C sum = 0;
    for (int i = rows.first; i <= rows.last; ++i) {
      if (!holds(p.rows, i, at.row)) continue;
      const int height = taps_of(p.rows, i, p.count_include_pad).shared;
      for (int j = columns.first; j <= columns.last; ++j) {
        if (!holds(p.columns, j, at.column)) continue;
        const std::int64_t shared = std::int64_t{height} * taps_of(p.columns, j, p.count_include_pad).shared;
        sum += widen(dy[at.plane * output_plane + std::int64_t{i} * p.columns.output + j]) /
               static_cast<C>(shared > 0 ? shared : 1);
      }
    }
    dx[n] = narrow<T>(sum);
  }
}

std::int64_t inputs_of(const Pool& p) { return p.planes * p.rows.input * p.columns.input; }
std::int64_t outputs_of(const Pool& p) { return p.planes * p.rows.output * p.columns.output; }

bool large_windows(const Pool& p) {
  const auto extent = [](const PoolAxis& a) {
    return std::int64_t{a.adaptive ? a.input / a.output : a.kernel};
  };
  return extent(p.rows) * extent(p.columns) >= kLargeWindow;
}

// Of the place too where `places` is given; of the value where y is.
template <class T>
void find_largest(const Pool& p, const void* x, T* y, int* places, cudaStream_t stream) {
  const std::int64_t outputs = outputs_of(p);
  if (large_windows(p))
    max_windows<T, 32><<<blocks_striding(outputs, kThreads / 32), kThreads, 0, stream>>>(
        p, outputs, static_cast<const T*>(x), y, places);
  else
    max_windows<T, 1>
        <<<blocks_striding(outputs), kThreads, 0, stream>>>(p, outputs, static_cast<const T*>(x), y, places);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void max_pool(DType dtype, const Pool& p, const void* x, void* y, cudaStream_t stream) {
  if (p.pairs) return max_pool_pairs(dtype, p, x, y, stream);
  dispatch_floats(dtype, [&]<class T>() { find_largest<T>(p, x, static_cast<T*>(y), nullptr, stream); });
}

void mean_pool(DType dtype, const Pool& p, const void* x, void* y, cudaStream_t stream) {
  if (p.pairs) return mean_pool_pairs(dtype, p, x, y, stream);
  const std::int64_t outputs = outputs_of(p);
  dispatch_floats(dtype, [&]<class T>() {
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    if (large_windows(p))
      mean_windows<T, 32>
          <<<blocks_striding(outputs, kThreads / 32), kThreads, 0, stream>>>(p, outputs, from, to);
    else
      mean_windows<T, 1><<<blocks_striding(outputs), kThreads, 0, stream>>>(p, outputs, from, to);
    HEADROOM_CUDA_LAUNCHED();
  });
}

void max_pool_grad(DType dtype, const Pool& p, const void* dy, const void* x, int* places, void* dx,
                   cudaStream_t stream) {
  if (p.pairs) return max_pool_grad_pairs(dtype, p, dy, x, dx, stream);
  dispatch_floats(dtype, [&]<class T>() {
    find_largest<T>(p, x, nullptr, places, stream);
    max_windows_grad<<<blocks_striding(inputs_of(p)), kThreads, 0, stream>>>(
        p, inputs_of(p), static_cast<const T*>(dy), static_cast<const T*>(x), places, static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void mean_pool_grad(DType dtype, const Pool& p, const void* dy, void* dx, cudaStream_t stream) {
  if (p.pairs) return mean_pool_grad_pairs(dtype, p, dy, dx, stream);
  dispatch_floats(dtype, [&]<class T>() {
    mean_windows_grad<<<blocks_striding(inputs_of(p)), kThreads, 0, stream>>>(
        p, inputs_of(p), static_cast<const T*>(dy), static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
