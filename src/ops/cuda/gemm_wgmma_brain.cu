#include "ops/cuda/gemm_wgmma.cuh"

namespace headroom::cuda {

WgmmaKernel brain_wgmma(int tile_n, bool across_a, bool across_b) {
  return tile_n == 256 ? wgmma_kernel<Brain, 256>(across_a, across_b)
                       : wgmma_kernel<Brain, 128>(across_a, across_b);
}

}  // namespace headroom::cuda
