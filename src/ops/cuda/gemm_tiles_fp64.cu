#include "ops/cuda/gemm_tiles_fp64.cuh"

namespace headroom::cuda {

TileKernel fp64_wide_kernel(bool along_a, bool along_b) {
  return fp64_tile_kernel<Fp64Config<8, 16, 4, 2>>(along_a, along_b);
}

}  // namespace headroom::cuda
