#include "ops/conv2d/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

// A block for all outputs of an image (gridDim.y is 1), or for those of one map.
__global__ void slide_blocks(const __grid_constant__ Sweep s, const float* __restrict__ x,
                             const float* __restrict__ w, const float* __restrict__ bias,
                             float* __restrict__ y) {
  const int plane = s.out_plane(), maps = s.groups * s.maps;
  const int span = maps / static_cast<int>(gridDim.y) * plane, begin = static_cast<int>(blockIdx.y) * span;
  float* image_out = y + std::int64_t{blockIdx.x} * maps * plane;
  for (int at = begin + static_cast<int>(threadIdx.x); at < begin + span;
       at += static_cast<int>(blockDim.x)) {
    const int map = at / plane, pixel = at - map * plane, row = pixel / s.out_w,
              column = pixel - row * s.out_w;
    const float sum = window_sum(s, image_of(s, x, blockIdx.x, map), w + weights_at(s, map), row, column);
    image_out[at] = activate(s.activation, bias == nullptr ? sum : sum + bias[map]);
  }
}

// 32 outputs of a map by a block; threads with the same x share the channels of one.
__global__ void sum_by_tree(const __grid_constant__ Sweep s, const float* __restrict__ x,
                            const float* __restrict__ w, const float* __restrict__ bias,
                            float* __restrict__ y) {
  __shared__ float part[16][32];
  const int map = static_cast<int>(blockIdx.y), share = static_cast<int>(threadIdx.y);
  const std::int64_t flat = std::int64_t{blockIdx.x} * 32 + threadIdx.x, plane = s.out_plane();
  const std::int64_t n = flat / plane;
  const int pixel = static_cast<int>(flat - n * plane), row = pixel / s.out_w, column = pixel - row * s.out_w;
  float sum = 0;
  if (flat < s.pixels())
    sum = window_sum(s, image_of(s, x, n, map), w + weights_at(s, map), row, column, share,
                     static_cast<int>(blockDim.y));
  part[share][threadIdx.x] = sum;
  for (int half = static_cast<int>(blockDim.y) / 2; half > 0; half /= 2) {
    __syncthreads();
    if (share < half) part[share][threadIdx.x] += part[share + half][threadIdx.x];
  }
  if (share > 0 || flat >= s.pixels()) return;
  sum = part[0][threadIdx.x];
  y[(n * s.groups * s.maps + map) * plane + pixel] =
      activate(s.activation, bias == nullptr ? sum : sum + bias[map]);
}

// One thread for each output and channel, y is zero before. The channel 0 brings the bias.
__global__ void sum_by_atomics(const __grid_constant__ Sweep s, int pixel_blocks, const float* __restrict__ x,
                               const float* __restrict__ w, const float* __restrict__ bias, float* y) {
  const int map = static_cast<int>(blockIdx.y) / s.channels,
            channel = static_cast<int>(blockIdx.y) - map * s.channels;
  const std::int64_t n = blockIdx.x / static_cast<unsigned>(pixel_blocks);
  const int pixel = static_cast<int>((blockIdx.x - n * pixel_blocks) * blockDim.x + threadIdx.x);
  if (pixel >= s.out_plane()) return;
  const int row = pixel / s.out_w, column = pixel - row * s.out_w;
  float sum = window_sum(s, image_of(s, x, n, map), w + weights_at(s, map), row, column, channel, s.channels);
  if (channel == 0 && bias != nullptr) sum += bias[map];
  atomicAdd(y + (n * s.groups * s.maps + map) * s.out_plane() + pixel, sum);
}

}  // namespace

void conv2d_blocks(bool per_map, const Sweep& s, const float* x, const float* w, const float* bias, float* y,
                   cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(s.batch), per_map ? static_cast<unsigned>(s.groups * s.maps) : 1U);
  slide_blocks<<<grid, kThreads, 0, stream>>>(s, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

void conv2d_channel_tree(int shares, const Sweep& s, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream) {
  const dim3 grid(blocks_for(s.pixels(), 32), static_cast<unsigned>(s.groups * s.maps));
  const dim3 threads(32, static_cast<unsigned>(shares));
  sum_by_tree<<<grid, threads, 0, stream>>>(s, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

void conv2d_channel_atomics(const Sweep& s, const float* x, const float* w, const float* bias, float* y,
                            cudaStream_t stream) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(s.pixels() * s.groups * s.maps);
  HEADROOM_CUDA_CHECK(cudaMemsetAsync(y, 0, bytes, stream));
  const int pixel_blocks = (s.out_plane() + kThreads - 1) / kThreads;
  const dim3 grid(blocks_for(std::int64_t{s.batch} * pixel_blocks, 1),
                  static_cast<unsigned>(s.groups * s.maps * s.channels));
  sum_by_atomics<<<grid, kThreads, 0, stream>>>(s, pixel_blocks, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
