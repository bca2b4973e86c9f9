// Each element of the image is read from L2 once for a block and map instead of once for each window; a map
// still reads the whole image again.
#include "ops/conv2d/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

__global__ void slide_tiles(const __grid_constant__ Sweep s, int tiles_across, int tile_h, int tile_w,
                            const float* __restrict__ x, const float* __restrict__ w,
                            const float* __restrict__ bias, float* __restrict__ y) {
  extern __shared__ float tile[];  // [tile_h][tile_w], then the taps
  float* taps = tile + tile_h * tile_w;
  const int map = static_cast<int>(blockIdx.y), across = static_cast<int>(blockDim.x);
  const int me = static_cast<int>(threadIdx.y) * across + static_cast<int>(threadIdx.x),
            all = across * across;
  const int first_row = static_cast<int>(blockIdx.z) / tiles_across * across;
  const int first_column = static_cast<int>(blockIdx.z) % tiles_across * across;
  // Windows that walk backwards begin at their far end.
  const int back_h = min(0, (s.kernel_h - 1) * s.step_h), back_w = min(0, (s.kernel_w - 1) * s.step_w);
  const int top = first_row * s.mul_h + s.off_h + back_h, left = first_column * s.mul_w + s.off_w + back_w;
  const float* image = image_of(s, x, blockIdx.x, map);
  const float* weights = w + weights_at(s, map);
  const int row = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int c = 0; c < s.channels; ++c, image += s.in_plane(), weights += s.weight_channel) {
    for (int at = me; at < tile_h * tile_w; at += all) {
      const int h = top + at / tile_w, v = left + at % tile_w;
      const bool inside = static_cast<unsigned>(h) < static_cast<unsigned>(s.in_h) &&
                          static_cast<unsigned>(v) < static_cast<unsigned>(s.in_w);
      tile[at] = inside ? image[h * s.in_w + v] : 0.0F;
    }
    for (int at = me; at < s.taps(); at += all) taps[at] = weights[at];
    __syncthreads();
    for (int i = 0; i < s.kernel_h; ++i)
      for (int j = 0; j < s.kernel_w; ++j)
        sum += tile[(row * s.mul_h + i * s.step_h - back_h) * tile_w + column * s.mul_w + j * s.step_w -
                    back_w] *
               taps[i * s.kernel_w + j];
    __syncthreads();
  }
  if (first_row + row >= s.out_h || first_column + column >= s.out_w) return;
  y[(std::int64_t{blockIdx.x} * s.groups * s.maps + map) * s.out_plane() + (first_row + row) * s.out_w +
    first_column + column] = activate(s.activation, bias == nullptr ? sum : sum + bias[map]);
}

}  // namespace

void conv2d_shared_tiles(int block, const Sweep& s, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream) {
  const auto extent = [block](int mul, int kernel, int step) {
    return (block - 1) * mul + (kernel - 1) * (step < 0 ? -step : step) + 1;
  };
  const int tile_h = extent(s.mul_h, s.kernel_h, s.step_h), tile_w = extent(s.mul_w, s.kernel_w, s.step_w);
  const int across = (s.out_w + block - 1) / block, down = (s.out_h + block - 1) / block;
  const dim3 threads(static_cast<unsigned>(block), static_cast<unsigned>(block));
  const dim3 grid(static_cast<unsigned>(s.batch), static_cast<unsigned>(s.groups * s.maps),
                  static_cast<unsigned>(across * down));
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(tile_h * tile_w + s.taps());
  slide_tiles<<<grid, threads, bytes, stream>>>(s, across, tile_h, tile_w, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
