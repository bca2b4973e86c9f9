#include "ops/conv2d/cuda/matmul_factors.cuh"
#include "ops/conv2d/cuda/tile_product.cuh"

namespace headroom::cuda {
namespace {

constexpr int kTile = 16;

// Grid: pixels, rows of the matrix, images and groups.
__global__ void unroll(const __grid_constant__ Sweep s, const float* __restrict__ x,
                       float* __restrict__ matrix) {
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), plane = s.out_plane();
  if (pixel >= plane) return;
  const Gathered element{s, x + std::int64_t{blockIdx.z} * s.channels * s.in_plane()};
  float* to = matrix + std::int64_t{blockIdx.z} * s.depth() * plane + pixel;
  for (int k = static_cast<int>(blockIdx.y); k < s.depth(); k += static_cast<int>(gridDim.y))
    to[std::int64_t{k} * plane] = element(k, pixel);
}

__global__ void multiply(const __grid_constant__ Sweep s, const float* __restrict__ matrix,
                         const float* __restrict__ w, const float* __restrict__ bias, float* __restrict__ y) {
  const int group = static_cast<int>(blockIdx.z) % s.groups, plane = s.out_plane();
  shared_product<kTile>(s.maps, plane, s.depth(), Weights{s, w + group * s.weight_group},
                        Unrolled{matrix + std::int64_t{blockIdx.z} * s.depth() * plane, plane},
                        FinishedOutput{s, bias == nullptr ? nullptr : bias + group * s.maps,
                                       y + std::int64_t{blockIdx.z} * s.maps * plane});
}

}  // namespace

void conv2d_unroll(const Sweep& s, int first, int images, const float* x, float* matrix,
                   cudaStream_t stream) {
  const dim3 grid(blocks_for(s.out_plane()), static_cast<unsigned>(s.depth() < 65535 ? s.depth() : 65535),
                  static_cast<unsigned>(images * s.groups));
  unroll<<<grid, kThreads, 0, stream>>>(s, x + std::int64_t{first} * s.groups * s.channels * s.in_plane(),
                                        matrix);
  HEADROOM_CUDA_LAUNCHED();
}

void conv2d_matmul(const Sweep& s, int first, int images, const float* matrix, const float* w,
                   const float* bias, float* y, cudaStream_t stream) {
  const dim3 threads(kTile, kTile);
  const dim3 grid(blocks_for(s.out_plane(), kTile), blocks_for(s.maps, kTile),
                  static_cast<unsigned>(images * s.groups));
  multiply<<<grid, threads, 0, stream>>>(s, matrix, w, bias,
                                         y + std::int64_t{first} * s.groups * s.maps * s.out_plane());
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
