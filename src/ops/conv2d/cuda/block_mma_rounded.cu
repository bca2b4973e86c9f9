// Convolution with activation and pooling for tf32 and 16 bits.
#include "ops/conv2d/cuda/block_mma.cuh"

namespace headroom::cuda {

void conv2d_block_mma_rounded(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x,
                              const void* w, const void* bias, void* y, cudaStream_t stream) {
  block_launcher<false>(q)(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
