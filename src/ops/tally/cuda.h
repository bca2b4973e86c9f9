#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// correct may be null. Types are fp32 or fp64.
void tally(DType loss_type, const void* loss, DType correct_type, const void* correct, double count,
           double* sums, cudaStream_t stream);

}  // namespace headroom::cuda
