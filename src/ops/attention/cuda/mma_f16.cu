#include "ops/attention/cuda/mma.cuh"

namespace headroom::cuda {

void attention_mma_f16(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  run_mma<Fragments16<Half>>(s, a, stream);
}

}  // namespace headroom::cuda
