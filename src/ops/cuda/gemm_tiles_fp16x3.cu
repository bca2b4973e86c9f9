#include "ops/cuda/fp16x3_math.cuh"
#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

TileKernel fp16x3_tile_kernel(int tile, bool along_a, bool along_b) {
  return tile == 128 ? tile_kernel<Fp16x3, 128, 2, 2, 4>(along_a, along_b)
                     : tile_kernel<Fp16x3, 64, 1, 1, 4>(along_a, along_b);
}

}  // namespace headroom::cuda
