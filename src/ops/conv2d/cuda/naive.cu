// A block of threads for a square of outputs, one thread each: grid over images, maps and squares.
#include "ops/conv2d/cuda/rungs.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

constexpr int kConstantFloats = 65536 / 4;
__constant__ float filters[kConstantFloats];

// No pointer is __restrict__: y may be x for all the compiler knows, so a sum in memory is read and written
// at every product.
template <bool kConstant, bool kRegister>
__global__ void slide_naively(const __grid_constant__ Sweep s, int tiles_across, const float* x,
                              const float* w, const float* bias, float* y) {
  const int map = static_cast<int>(blockIdx.y), tile = static_cast<int>(blockIdx.z);
  const int row = tile / tiles_across * static_cast<int>(blockDim.y) + static_cast<int>(threadIdx.y);
  const int column = tile % tiles_across * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  if (row >= s.out_h || column >= s.out_w) return;
  const float* image = image_of(s, x, blockIdx.x, map);
  const int first = weights_at(s, map);
  float* at =
      y + (std::int64_t{blockIdx.x} * s.groups * s.maps + map) * s.out_plane() + row * s.out_w + column;
  float sum = 0;
  if constexpr (!kRegister) *at = 0;
  for (int c = 0; c < s.channels; ++c)
    for (int i = 0; i < s.kernel_h; ++i)
      for (int j = 0; j < s.kernel_w; ++j) {
        const int h = source(row * s.mul_h + s.off_h + i * s.step_h, s.div_h, s.in_h);
        const int v = source(column * s.mul_w + s.off_w + j * s.step_w, s.div_w, s.in_w);
        if (h < 0 || v < 0) continue;
        const int k = first + c * static_cast<int>(s.weight_channel) + i * s.kernel_w + j;
        const float product = image[c * s.in_plane() + h * s.in_w + v] * (kConstant ? filters[k] : w[k]);
        if constexpr (kRegister)
          sum += product;
        else
          *at += product;
      }
  if constexpr (!kRegister) sum = *at;
  *at = activate(s.activation, bias == nullptr ? sum : sum + bias[map]);
}

// One thread for each weight and piece of the images.
__global__ void gather_naively(const __grid_constant__ Sweep s, const float* x, const float* dy,
                               float* partial) {
  const std::int64_t weights = std::int64_t{s.groups} * s.maps * s.depth();
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= weights) return;
  const int map = static_cast<int>(at / s.depth()), k = static_cast<int>(at - std::int64_t{map} * s.depth());
  const int c = k / s.taps(), tap = k - c * s.taps(), i = tap / s.kernel_w, j = tap - i * s.kernel_w;
  float sum = 0;
  for (int n = static_cast<int>(blockIdx.y); n < s.batch; n += static_cast<int>(gridDim.y)) {
    const float* image = image_of(s, x, n, map) + c * s.in_plane();
    const float* slope = dy + (std::int64_t{n} * s.groups * s.maps + map) * s.out_plane();
    for (int row = 0; row < s.out_h; ++row)
      for (int column = 0; column < s.out_w; ++column) {
        const int h = source(row * s.mul_h + s.off_h + i * s.step_h, 1, s.in_h);
        const int v = source(column * s.mul_w + s.off_w + j * s.step_w, 1, s.in_w);
        if (h >= 0 && v >= 0) sum += image[h * s.in_w + v] * slope[row * s.out_w + column];
      }
  }
  partial[blockIdx.y * weights + at] = sum;
}

}  // namespace

void conv2d_naive(bool constant, bool registers, int block, const Sweep& s, const float* x, const float* w,
                  const float* bias, float* y, cudaStream_t stream) {
  if (constant)
    HEADROOM_CUDA_CHECK(cudaMemcpyToSymbolAsync(
        filters, w, sizeof(float) * static_cast<std::size_t>(s.groups * s.weight_group), 0,
        cudaMemcpyDeviceToDevice, stream));
  const int across = (s.out_w + block - 1) / block, down = (s.out_h + block - 1) / block;
  const dim3 threads(static_cast<unsigned>(block), static_cast<unsigned>(block));
  const dim3 grid(static_cast<unsigned>(s.batch), static_cast<unsigned>(s.groups * s.maps),
                  static_cast<unsigned>(across * down));
  const auto run = [&](auto kernel) {
    kernel<<<grid, threads, 0, stream>>>(s, across, x, w, bias, y);
    HEADROOM_CUDA_LAUNCHED();
  };
  if (constant)
    registers ? run(slide_naively<true, true>) : run(slide_naively<true, false>);
  else
    registers ? run(slide_naively<false, true>) : run(slide_naively<false, false>);
}

void conv2d_naive_weight(const Sweep& s, int pieces, const float* x, const float* dy, float* dw,
                         float* partial, cudaStream_t stream) {
  const std::int64_t weights = std::int64_t{s.groups} * s.maps * s.depth();
  const dim3 grid(blocks_for(weights), static_cast<unsigned>(pieces));
  gather_naively<<<grid, kThreads, 0, stream>>>(s, x, dy, partial);
  HEADROOM_CUDA_LAUNCHED();
  sum_pieces(DType::f32, weights, pieces, partial, dw, stream);
}

}  // namespace headroom::cuda
