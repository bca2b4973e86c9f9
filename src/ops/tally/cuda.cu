#include "ops/cuda/types.cuh"
#include "ops/tally/cuda.h"

namespace headroom::cuda {
namespace {

__device__ double read(bool wide, const void* from) {
  return wide ? *static_cast<const double*>(from) : double{*static_cast<const float*>(from)};
}

// Fields as in tally.h.
__global__ void add_step(bool loss_wide, const void* loss_at, bool correct_wide, const void* correct,
                         double count, double* sums) {
  const double loss = read(loss_wide, loss_at);
  sums[0] += loss * count;
  if (correct != nullptr) sums[1] += read(correct_wide, correct);
  sums[2] += 1;
  if (sums[2] == 1) sums[3] = loss;
  sums[4] = loss;
  if (!isfinite(loss) && sums[5] == 0) sums[5] = sums[2], sums[6] = loss;
}

}  // namespace

void tally(DType loss_type, const void* loss, DType correct_type, const void* correct, double count,
           double* sums, cudaStream_t stream) {
  add_step<<<1, 1, 0, stream>>>(loss_type == DType::f64, loss, correct_type == DType::f64, correct, count,
                                sums);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
