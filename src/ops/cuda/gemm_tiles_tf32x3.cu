#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

TileKernel tf32x3_kernel(int tile, bool along_a, bool along_b) {
  return tile == 128 ? tile_kernel<Tf32x3, 128, 2, 1, 4>(along_a, along_b)
                     : tile_kernel<Tf32x3, 64, 1, 1, 4>(along_a, along_b);
}

}  // namespace headroom::cuda
