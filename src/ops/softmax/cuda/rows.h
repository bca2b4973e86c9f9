#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// As SoftmaxProblem.
struct SoftmaxShape {
  std::int64_t outer, length, inner;
  bool log;
};

void softmax(DType dtype, const SoftmaxShape& shape, const void* x, void* y, cudaStream_t stream);
void softmax_grad(DType dtype, const SoftmaxShape& shape, const void* dy, const void* y, void* dx,
                  cudaStream_t stream);

}  // namespace headroom::cuda
