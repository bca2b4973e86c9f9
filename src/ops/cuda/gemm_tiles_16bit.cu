#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

TileKernel half_kernel(bool along_a, bool along_b) {
  return tile_kernel<Narrow<Half>, 64, 1, 1, 4>(along_a, along_b);
}

TileKernel brain_kernel(bool along_a, bool along_b) {
  return tile_kernel<Narrow<Brain>, 64, 1, 1, 4>(along_a, along_b);
}

}  // namespace headroom::cuda
