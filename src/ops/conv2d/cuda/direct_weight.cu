// The gradient of the weights in two launches: partial sums over pieces of the pixels, then their sum. Both
// in a fixed order.
#include "ops/conv2d/cuda/device.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

constexpr int kTaps = 8;  // of one map and channel, by one block: dy is read once for all of them
constexpr int kWarps = kThreads / 32;

template <class T>
__global__ void __launch_bounds__(kThreads)
    gather(const __grid_constant__ Sweep s, const T* __restrict__ x, const T* __restrict__ dy,
           Compute<T>* __restrict__ partial) {
  using C = Compute<T>;
  const int tap_blocks = (s.taps() + kTaps - 1) / kTaps;
  unsigned block = blockIdx.x;
  const int first_tap = static_cast<int>(block % static_cast<unsigned>(tap_blocks)) * kTaps;
  block /= static_cast<unsigned>(tap_blocks);
  const int channel = static_cast<int>(block % static_cast<unsigned>(s.channels));
  const int map = static_cast<int>(block / static_cast<unsigned>(s.channels)), group = map / s.maps;
  const std::int64_t plane = s.out_plane();
  const int maps = s.groups * s.maps, channels = s.groups * s.channels;
  C sum[kTaps] = {};
  for (std::int64_t pixel = std::int64_t{blockIdx.y} * kThreads + threadIdx.x; pixel < s.pixels();
       pixel += std::int64_t{gridDim.y} * kThreads) {
    const std::int64_t n = pixel / plane;
    const int rest = static_cast<int>(pixel - n * plane), row = rest / s.out_w, column = rest - row * s.out_w;
    const C slope = widen(dy[(n * maps + map) * plane + rest]);
    const T* image = x + (n * channels + group * s.channels + channel) * s.in_plane();
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      const int tap = first_tap + k, i = tap / s.kernel_w, j = tap - i * s.kernel_w;
      const int h = source(row * s.mul_h + s.off_h + i * s.step_h, 1, s.in_h);
      const int v = source(column * s.mul_w + s.off_w + j * s.step_w, 1, s.in_w);
      if (i < s.kernel_h && h >= 0 && v >= 0) sum[k] += slope * widen(image[std::int64_t{h} * s.in_w + v]);
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
  const int tap = first_tap + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kTaps || tap >= s.taps()) return;
  C total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += of_warp[threadIdx.x][i];
  partial[(std::int64_t{blockIdx.y} * maps + map) * s.depth() + channel * s.taps() + tap] = total;
}

}  // namespace

void conv2d_direct_weight(DType dtype, const Sweep& s, int pieces, const void* x, const void* dy, void* dw,
                          void* partial, cudaStream_t stream) {
  const std::int64_t blocks = std::int64_t{s.groups} * s.maps * s.channels * ((s.taps() + kTaps - 1) / kTaps);
  const dim3 grid(blocks_for(blocks, 1), static_cast<unsigned>(pieces));
  dispatch_floats(dtype, [&]<class T>() {
    gather<<<grid, kThreads, 0, stream>>>(s, static_cast<const T*>(x), static_cast<const T*>(dy),
                                          static_cast<Compute<T>*>(partial));
    HEADROOM_CUDA_LAUNCHED();
  });
  sum_pieces(dtype, std::int64_t{s.groups} * s.maps * s.depth(), pieces, partial, dw, stream);
}

}  // namespace headroom::cuda
