#include "ops/attention/cuda/mma.cuh"

namespace headroom::cuda {

void attention_mma_tf32(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  run_mma<FragmentsTf32>(s, a, stream);
}

}  // namespace headroom::cuda
