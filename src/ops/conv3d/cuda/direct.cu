// A thread per place and few maps, sums in registers; neighbours read the same lines from the first cache.
// The gradient of the weights: a block for a few taps of one map and channel, summed over all outputs in a
// fixed order.
#include "ops/conv3d/cuda/direct.h"
#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

constexpr int kMaps = 4;
constexpr int kTaps = 8;
constexpr int kWarps = kThreads / 32;

// The output whose tap k reads the input `at`; -1: none does.
__device__ std::int64_t reader(const WindowAxis& a, std::int64_t at, std::int64_t k) {
  const std::int64_t start = at + a.pad - k * a.dilation;
  if (start < 0 || start % a.stride != 0) return -1;
  return start / a.stride < a.output ? start / a.stride : -1;
}

struct Voxel {
  std::int64_t d, h, w;
};
__device__ Voxel place_of(std::int64_t flat, std::int64_t rows, std::int64_t columns) {
  const Cut w = cut(flat, columns), h = cut(w.whole, rows);
  return {h.whole, h.rest, w.rest};
}

// What one direction sums over and makes. Forward: channels to maps, over inputs. Backward: maps to channels,
// over outputs.
template <bool kBackward>
struct Direction {
  const Conv3d& c;
  __device__ std::int64_t summed() const { return kBackward ? c.group_maps() : c.group_channels(); }
  __device__ std::int64_t made() const { return kBackward ? c.group_channels() : c.group_maps(); }
  __device__ std::int64_t from() const { return kBackward ? c.window.outputs() : c.window.inputs(); }
  __device__ std::int64_t to() const { return kBackward ? c.window.inputs() : c.window.outputs(); }
  __device__ Voxel place(std::int64_t flat) const {
    const Window3d& w = c.window;
    return kBackward ? place_of(flat, w.rows.input, w.columns.input)
                     : place_of(flat, w.rows.output, w.columns.output);
  }
  __device__ std::int64_t read(const WindowAxis& a, std::int64_t at, std::int64_t k) const {
    return kBackward ? reader(a, at, k) : a.source(at, k);
  }
  __device__ std::int64_t flat(std::int64_t d, std::int64_t h, std::int64_t w) const {
    return kBackward ? (d * c.window.rows.output + h) * c.window.columns.output + w
                     : (d * c.window.rows.input + h) * c.window.columns.input + w;
  }
  // Steps in the weights.
  __device__ std::int64_t made_step() const { return kBackward ? c.window.taps() : c.depth(); }
  __device__ std::int64_t summed_step() const { return kBackward ? c.depth() : c.window.taps(); }
};

template <class T, bool kBackward>
__global__ void __launch_bounds__(kThreads)
    slide(const __grid_constant__ Conv3d c, const T* __restrict__ x, const T* __restrict__ w,
          const T* __restrict__ bias, T* __restrict__ y) {
  using C = Compute<T>;
  const Direction<kBackward> go{c};
  const std::int64_t made_blocks = (go.made() + kMaps - 1) / kMaps, places = go.to();
  for (std::int64_t i = thread_number(); i < c.batch * c.groups * made_blocks * places; i += thread_count()) {
    const Cut at = cut(i, places), block = cut(at.whole, made_blocks), image = cut(block.whole, c.groups);
    const Voxel to = go.place(at.rest);
    const std::int64_t first = block.rest * kMaps, group = image.rest;
    const T* source = x + block.whole * go.summed() * go.from();
    const T* weights = w + group * c.group_maps() * c.depth();
    C sum[kMaps] = {};
    std::int64_t tap = 0;
    for (std::int64_t kd = 0; kd < c.window.depth.kernel; ++kd)
      for (std::int64_t kh = 0; kh < c.window.rows.kernel; ++kh)
        for (std::int64_t kw = 0; kw < c.window.columns.kernel; ++kw, ++tap) {
          const std::int64_t d = go.read(c.window.depth, to.d, kd), h = go.read(c.window.rows, to.h, kh),
                             v = go.read(c.window.columns, to.w, kw);
          if (d < 0 || h < 0 || v < 0) continue;
          const T* from = source + go.flat(d, h, v);
          for (std::int64_t k = 0; k < go.summed(); ++k, from += go.from()) {
            const C value = widen(*from);
#pragma unroll
            for (int m = 0; m < kMaps; ++m)
              if (first + m < go.made())
                sum[m] += value * widen(weights[(first + m) * go.made_step() + k * go.summed_step() + tap]);
          }
        }
#pragma unroll
    for (int m = 0; m < kMaps; ++m) {
      if (first + m >= go.made()) break;
      const std::int64_t map = group * go.made() + first + m;
      const C shift = bias == nullptr ? C{0} : widen(bias[map]);
      y[(image.whole * c.groups * go.made() + map) * places + at.rest] = narrow<T>(sum[m] + shift);
    }
  }
}

// Block b sums the taps from b % tap_blocks * kTaps on of one pair of map and channel.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_taps(const __grid_constant__ Conv3d c, const T* __restrict__ x, const T* __restrict__ dy,
             T* __restrict__ dw) {
  using C = Compute<T>;
  const Window3d& w = c.window;
  const std::int64_t tap_blocks = (w.taps() + kTaps - 1) / kTaps;
  const Cut pair = cut(blockIdx.x, tap_blocks), map = cut(pair.whole, c.group_channels());
  const std::int64_t channel = map.whole / c.group_maps() * c.group_channels() + map.rest;
  C sum[kTaps] = {};
  for (std::int64_t i = threadIdx.x; i < c.batch * w.outputs(); i += kThreads) {
    const Cut at = cut(i, w.outputs());
    const Voxel to = place_of(at.rest, w.rows.output, w.columns.output);
    const C slope = widen(dy[(at.whole * c.maps + map.whole) * w.outputs() + at.rest]);
    const T* volume = x + (at.whole * c.channels + channel) * w.inputs();
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      const std::int64_t tap = pair.rest * kTaps + k;
      if (tap >= w.taps()) break;
      const Voxel of = place_of(tap, w.rows.kernel, w.columns.kernel);
      const std::int64_t d = w.depth.source(to.d, of.d), h = w.rows.source(to.h, of.h),
                         v = w.columns.source(to.w, of.w);
      if (d >= 0 && h >= 0 && v >= 0)
        sum[k] += slope * widen(volume[(d * w.rows.input + h) * w.columns.input + v]);
    }
  }
  __shared__ C of_warp[kTaps][kWarps];
#pragma unroll
  for (int k = 0; k < kTaps; ++k) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum[k] += __shfl_down_sync(0xFFFFFFFFU, sum[k], step);
    if (threadIdx.x % 32 == 0) of_warp[k][threadIdx.x / 32] = sum[k];
  }
  __syncthreads();
  const std::int64_t tap = pair.rest * kTaps + threadIdx.x;
  if (threadIdx.x >= kTaps || tap >= w.taps()) return;
  C total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += of_warp[threadIdx.x][i];
  dw[pair.whole * w.taps() + tap] = narrow<T>(total);
}

template <bool kBackward>
void slide_all(DType dtype, const Conv3d& c, const void* x, const void* w, const void* bias, void* y,
               cudaStream_t stream) {
  const std::int64_t made = kBackward ? c.group_channels() : c.group_maps();
  const std::int64_t places = kBackward ? c.window.inputs() : c.window.outputs();
  const unsigned blocks = blocks_striding(c.batch * c.groups * ((made + kMaps - 1) / kMaps) * places);
  dispatch_floats(dtype, [&]<class T>() {
    slide<T, kBackward><<<blocks, kThreads, 0, stream>>>(c, static_cast<const T*>(x),
                                                         static_cast<const T*>(w),
                                                         static_cast<const T*>(bias), static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace

void conv3d(DType dtype, const Conv3d& conv, const void* x, const void* w, const void* bias, void* y,
            cudaStream_t stream) {
  slide_all<false>(dtype, conv, x, w, bias, y, stream);
}

void conv3d_grad_input(DType dtype, const Conv3d& conv, const void* dy, const void* w, void* dx,
                       cudaStream_t stream) {
  slide_all<true>(dtype, conv, dy, w, nullptr, dx, stream);
}

void conv3d_grad_weight(DType dtype, const Conv3d& c, const void* x, const void* dy, void* dw,
                        cudaStream_t stream) {
  const std::int64_t blocks = c.maps * c.group_channels() * ((c.window.taps() + kTaps - 1) / kTaps);
  dispatch_floats(dtype, [&]<class T>() {
    sum_taps<T><<<blocks_for(blocks, 1), kThreads, 0, stream>>>(
        c, static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dw));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
