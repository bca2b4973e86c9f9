#include "ops/conv2d/cuda/matmul_factors.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"
#include "ops/conv2d/cuda/tile_product.cuh"

namespace headroom::cuda {
namespace {

// Grid: pixels, maps, images and groups. kRows 0: a shared product of kTile; else a register product.
template <int kTile, int kRows>
__global__ void gather_and_multiply(const __grid_constant__ Sweep s, const float* __restrict__ x,
                                    const float* __restrict__ w, const float* __restrict__ bias,
                                    float* __restrict__ y) {
  const int group = static_cast<int>(blockIdx.z) % s.groups, plane = s.out_plane();
  const Weights weights{s, w + group * s.weight_group};
  const Gathered image{s, x + std::int64_t{blockIdx.z} * s.channels * s.in_plane()};
  const FinishedOutput out{s, bias == nullptr ? nullptr : bias + group * s.maps,
                           y + std::int64_t{blockIdx.z} * s.maps * plane};
  if constexpr (kRows == 0)
    shared_product<kTile>(s.maps, plane, s.depth(), weights, image, out);
  else
    register_product<kRows, 4096 / kRows>(s.maps, plane, s.depth(), weights, image, out);
}

// dw[map][k] = sum over pixels of dy[map][pixel] * image[k][pixel]; the pixels of the images n, n + pieces, …
struct Slopes {
  const Sweep& s;
  const float* dy;  // of the group in image 0
  int first, pieces;
  __device__ float operator()(int map, int at) const {
    const int i = at / s.out_plane(), pixel = at - i * s.out_plane();
    const std::int64_t n = first + std::int64_t{i} * pieces;
    return dy[n * s.groups * s.maps * s.out_plane() + map * s.out_plane() + pixel];
  }
};
struct Pixels {
  const Sweep& s;
  const float* x;
  int first, pieces;
  __device__ float operator()(int at, int k) const {
    const int i = at / s.out_plane(), pixel = at - i * s.out_plane();
    const std::int64_t n = first + std::int64_t{i} * pieces;
    return Gathered{s, x + n * s.groups * s.channels * s.in_plane()}(k, pixel);
  }
};
struct Sums {
  float* to;
  int depth;
  __device__ void operator()(int map, int k, float sum) const { to[std::int64_t{map} * depth + k] = sum; }
};

__global__ void multiply_for_weights(const __grid_constant__ Sweep s, int pieces, const float* __restrict__ x,
                                     const float* __restrict__ dy, float* __restrict__ partial) {
  const int group = static_cast<int>(blockIdx.z) / pieces,
            piece = static_cast<int>(blockIdx.z) - group * pieces;
  const int images = (s.batch - piece + pieces - 1) / pieces;
  const std::int64_t weights = std::int64_t{s.groups} * s.maps * s.depth();
  register_product<32, 128>(
      s.maps, s.depth(), images * s.out_plane(),
      Slopes{s, dy + std::int64_t{group} * s.maps * s.out_plane(), piece, pieces},
      Pixels{s, x + std::int64_t{group} * s.channels * s.in_plane(), piece, pieces},
      Sums{partial + piece * weights + std::int64_t{group} * s.maps * s.depth(), s.depth()});
}

// As many images at once as a grid has in its third dimension.
template <class Run>
void by_images(const Sweep& s, const float* x, float* y, const Run& run) {
  const int chunk = 65535 / s.groups;
  for (int first = 0; first < s.batch; first += chunk)
    run(static_cast<unsigned>((s.batch - first < chunk ? s.batch - first : chunk) * s.groups),
        x + std::int64_t{first} * s.groups * s.channels * s.in_plane(),
        y + std::int64_t{first} * s.groups * s.maps * s.out_plane());
}

}  // namespace

void conv2d_fused_matmul(int tile, const Sweep& s, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream) {
  by_images(s, x, y, [&](unsigned images, const float* from, float* to) {
    const dim3 grid(blocks_for(s.out_plane(), tile), blocks_for(s.maps, tile), images);
    const dim3 threads(static_cast<unsigned>(tile), static_cast<unsigned>(tile));
    const auto kernel = tile == 32 ? gather_and_multiply<32, 0> : gather_and_multiply<16, 0>;
    kernel<<<grid, threads, 0, stream>>>(s, from, w, bias, to);
    HEADROOM_CUDA_LAUNCHED();
  });
}

void conv2d_register_matmul(int rows, const Sweep& s, const float* x, const float* w, const float* bias,
                            float* y, cudaStream_t stream) {
  by_images(s, x, y, [&](unsigned images, const float* from, float* to) {
    const dim3 grid(blocks_for(s.out_plane(), 4096 / rows), blocks_for(s.maps, rows), images);
    const auto kernel = rows == 64   ? gather_and_multiply<0, 64>
                        : rows == 32 ? gather_and_multiply<0, 32>
                                     : gather_and_multiply<0, 16>;
    kernel<<<grid, kProductThreads, 0, stream>>>(s, from, w, bias, to);
    HEADROOM_CUDA_LAUNCHED();
  });
}

void conv2d_register_matmul_weight(const Sweep& s, int pieces, const float* x, const float* dy, float* dw,
                                   float* partial, cudaStream_t stream) {
  const dim3 grid(blocks_for(s.depth(), 128), blocks_for(s.maps, 32),
                  static_cast<unsigned>(s.groups * pieces));
  multiply_for_weights<<<grid, kProductThreads, 0, stream>>>(s, pieces, x, dy, partial);
  HEADROOM_CUDA_LAUNCHED();
  sum_pieces(DType::f32, std::int64_t{s.groups} * s.maps * s.depth(), pieces, partial, dw, stream);
}

}  // namespace headroom::cuda
