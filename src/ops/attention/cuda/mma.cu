#include "ops/attention/cuda/mma.cuh"

namespace headroom::cuda {

void attention_mma_bf16(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  run_mma<Fragments16<Brain>>(s, a, stream);
}

void attention_mma(DType dtype, const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  if (dtype == DType::f16) return attention_mma_f16(s, a, stream);
  if (dtype == DType::bf16) return attention_mma_bf16(s, a, stream);
  attention_mma_tf32(s, a, stream);
}

}  // namespace headroom::cuda
