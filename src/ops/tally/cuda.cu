#include "ops/cuda/types.cuh"
#include "ops/tally/add.cuh"
#include "ops/tally/cuda.h"

namespace headroom::cuda {
namespace {

__device__ double read(bool wide, const void* from) {
  return wide ? *static_cast<const double*>(from) : double{*static_cast<const float*>(from)};
}

__global__ void add_step(bool loss_wide, const void* loss, bool correct_wide, const void* correct,
                         double count, double* sums) {
  add_to_tally(read(loss_wide, loss), correct != nullptr ? read(correct_wide, correct) : 0, count, sums);
}

}  // namespace

void tally(DType loss_type, const void* loss, DType correct_type, const void* correct, double count,
           double* sums, cudaStream_t stream) {
  add_step<<<1, 1, 0, stream>>>(loss_type == DType::f64, loss, correct_type == DType::f64, correct, count,
                                sums);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
