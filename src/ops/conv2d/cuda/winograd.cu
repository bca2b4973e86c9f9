#include "ops/conv2d/cuda/rungs.cuh"
#include "ops/conv2d/cuda/tile_product.cuh"

namespace headroom::cuda {
namespace {

// y = A^T [(G g G^T) * (B^T d B)] A, with g 3 x 3, d 4 x 4, y 2 x 2. Each function does one dimension. Sums
// of filters and of results are in fp64: what they add up is larger than what is left in the end, and with
// all roundings of fp32 an output would err by more than a plain sum does.
__device__ inline void transform_filter(double a, double b, double c, double* to, int step) {
  to[0] = a;
  to[step] = 0.5 * (a + b + c);
  to[2 * step] = 0.5 * (a - b + c);
  to[3 * step] = c;
}
__device__ inline void transform_tile(float* d, int step) {
  const float a = d[0], b = d[step], c = d[2 * step], e = d[3 * step];
  d[0] = a - c, d[step] = b + c, d[2 * step] = c - b, d[3 * step] = b - e;
}

__global__ void transform_filters(const __grid_constant__ Sweep s, const float* __restrict__ w,
                                  float* __restrict__ filters) {
  const std::int64_t pairs = std::int64_t{s.groups} * s.maps * s.channels;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= pairs) return;
  const int map = static_cast<int>(at / s.channels),
            c = static_cast<int>(at - std::int64_t{map} * s.channels);
  const float* g = w + weights_at(s, map) + c * s.weight_channel;
  double rows[12], all[16];  // [4][3], [4][4]
#pragma unroll
  for (int j = 0; j < 3; ++j) {  // windows that walk backwards are read so
    const int column = s.step_w < 0 ? 2 - j : j;
    const bool back = s.step_h < 0;
    transform_filter(g[back ? 6 + column : column], g[3 + column], g[back ? column : 6 + column], rows + j,
                     3);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) transform_filter(rows[3 * i], rows[3 * i + 1], rows[3 * i + 2], all + 4 * i, 1);
#pragma unroll
  for (int e = 0; e < 16; ++e) filters[e * pairs + at] = static_cast<float>(all[e]);
}

// One thread for each tile and channel. Grid: tiles, channels, images and groups.
__global__ void transform_tiles(const __grid_constant__ Sweep s, const float* __restrict__ x,
                                float* __restrict__ tiles) {
  const int across = (s.out_w + 1) / 2, count = (s.out_h + 1) / 2 * across;
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= count) return;
  const int tile_row = at / across, tile_column = at - tile_row * across;
  const int top = 2 * tile_row + s.off_h + min(0, 2 * s.step_h),
            left = 2 * tile_column + s.off_w + min(0, 2 * s.step_w);
  const std::int64_t plane = std::int64_t{blockIdx.z} * s.channels + blockIdx.y;
  const float* image = x + plane * s.in_plane();
  float d[16];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int h = source(top + i, 1, s.in_h), v = source(left + j, 1, s.in_w);
      d[4 * i + j] = h < 0 || v < 0 ? 0.0F : image[h * s.in_w + v];
    }
#pragma unroll
  for (int j = 0; j < 4; ++j) transform_tile(d + j, 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) transform_tile(d + 4 * i, 1);
  const std::int64_t all = std::int64_t{gridDim.z} * s.channels * count;
#pragma unroll
  for (int e = 0; e < 16; ++e) tiles[e * all + plane * count + at] = d[e];
}

// A matrix in row-major order.
struct Rows {
  const float* matrix;
  std::int64_t width;
  __device__ float operator()(int row, int column) const { return matrix[row * width + column]; }
};
struct StoreRows {
  float* matrix;
  std::int64_t width;
  __device__ void operator()(int row, int column, float value) const { matrix[row * width + column] = value; }
};

// Grid: tiles, maps, and for each image and group its 16 products.
__global__ void multiply_tiles(const __grid_constant__ Sweep s, int count, int images_and_groups,
                               const float* __restrict__ filters, const float* __restrict__ tiles,
                               float* __restrict__ products) {
  const int element = static_cast<int>(blockIdx.z) / images_and_groups;
  const int at = static_cast<int>(blockIdx.z) - element * images_and_groups, group = at % s.groups;
  const std::int64_t pairs = std::int64_t{s.maps} * s.channels,
                     where = std::int64_t{element} * images_and_groups + at;
  register_product<32, 128>(s.maps, count, s.channels,
                            Rows{filters + (std::int64_t{element} * s.groups + group) * pairs, s.channels},
                            Rows{tiles + where * s.channels * count, count},
                            StoreRows{products + where * s.maps * count, count});
}

// One thread for each tile and map: four outputs. Grid: tiles, maps of a group, images and groups.
__global__ void transform_back(const __grid_constant__ Sweep s, const float* __restrict__ products,
                               const float* __restrict__ bias, float* __restrict__ y) {
  const int across = (s.out_w + 1) / 2, count = (s.out_h + 1) / 2 * across;
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= count) return;
  const std::int64_t plane = std::int64_t{blockIdx.z} * s.maps + blockIdx.y;
  const std::int64_t all = std::int64_t{gridDim.z} * s.maps * count;
  double m[16];
#pragma unroll
  for (int e = 0; e < 16; ++e) m[e] = products[e * all + plane * count + at];
  double half[8];  // [2][4]
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    half[j] = m[j] + m[4 + j] + m[8 + j];
    half[4 + j] = m[4 + j] - m[8 + j] - m[12 + j];
  }
  const int row = at / across * 2, column = at % across * 2;
  const int map = static_cast<int>(blockIdx.z) % s.groups * s.maps + static_cast<int>(blockIdx.y);
  const float shift = bias == nullptr ? 0.0F : bias[map];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const double *h = half + 4 * i, pair[2] = {h[0] + h[1] + h[2], h[1] - h[2] - h[3]};
#pragma unroll
    for (int j = 0; j < 2; ++j)
      if (row + i < s.out_h && column + j < s.out_w)
        y[plane * s.out_plane() + (row + i) * s.out_w + column + j] =
            activate(s.activation, static_cast<float>(pair[j] + shift));
  }
}

}  // namespace

void winograd_filters(const Sweep& s, const float* w, float* filters, cudaStream_t stream) {
  transform_filters<<<blocks_for(std::int64_t{s.groups} * s.maps * s.channels), kThreads, 0, stream>>>(
      s, w, filters);
  HEADROOM_CUDA_LAUNCHED();
}

void winograd_images(const Sweep& s, int first, int images, const float* x, const float* filters,
                     const float* bias, float* y, float* tiles, float* products, cudaStream_t stream) {
  const int count = (s.out_h + 1) / 2 * ((s.out_w + 1) / 2), planes = images * s.groups;
  const dim3 of_channels(blocks_for(count), static_cast<unsigned>(s.channels), static_cast<unsigned>(planes));
  transform_tiles<<<of_channels, kThreads, 0, stream>>>(
      s, x + std::int64_t{first} * s.groups * s.channels * s.in_plane(), tiles);
  HEADROOM_CUDA_LAUNCHED();
  const dim3 products_grid(blocks_for(count, 128), blocks_for(s.maps, 32),
                           static_cast<unsigned>(16 * planes));
  multiply_tiles<<<products_grid, kProductThreads, 0, stream>>>(s, count, planes, filters, tiles, products);
  HEADROOM_CUDA_LAUNCHED();
  const dim3 of_maps(blocks_for(count), static_cast<unsigned>(s.maps), static_cast<unsigned>(planes));
  transform_back<<<of_maps, kThreads, 0, stream>>>(
      s, products, bias, y + std::int64_t{first} * s.groups * s.maps * s.out_plane());
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
