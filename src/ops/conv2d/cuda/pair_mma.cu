// Images of one channel in exact fp32; rounded products are compiled beside it.
#include "ops/conv2d/cuda/pair_mma.cuh"

namespace headroom::cuda {

void conv2d_pair_mma(DType dtype, const BlockShape& s, const PairPlan& q, const void* x, const void* w,
                     const void* bias, void* y, cudaStream_t stream) {
  if (!q.split) return conv2d_pair_mma_rounded(dtype, s, q, x, w, bias, y, stream);
  pair_launcher<true>(q)(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
