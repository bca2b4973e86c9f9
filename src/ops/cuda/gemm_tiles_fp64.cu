#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

TileKernel fp64_wide_kernel(bool along_a, bool along_b) {
  return tile_kernel<Fp64Deep, 128, 2, 1, 4>(along_a, along_b);
}

}  // namespace headroom::cuda
