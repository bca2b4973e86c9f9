// Images of one channel for tf32 and 16 bits.
#include "ops/conv2d/cuda/pair_mma.cuh"

namespace headroom::cuda {

void conv2d_pair_mma_rounded(DType dtype, const BlockShape& s, const PairPlan& q, const void* x,
                             const void* w, const void* bias, void* y, cudaStream_t stream) {
  pair_launcher<false>(q)(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
