#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

TileKernel bf16x6_kernel(int tile, bool along_a, bool along_b) {
  return tile == 128 ? tile_kernel<Bf16x6, 128, 2, 1, 4>(along_a, along_b)
                     : tile_kernel<Bf16x6, 64, 1, 1, 4>(along_a, along_b);
}

}  // namespace headroom::cuda
