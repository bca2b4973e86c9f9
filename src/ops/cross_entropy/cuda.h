#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct LossShape {
  std::int64_t rows, classes;
  double batch;      // what the sum is divided by
  bool wide_labels;  // int64 instead of int32
};

// parts: a double for each block of the rows' split (ops/softmax/cuda/row_split.h). `correct` may be null.
void cross_entropy(DType dtype, const LossShape& shape, const void* x, const void* labels, double* parts,
                   void* loss, void* y, void* correct, cudaStream_t stream);
void cross_entropy_grad(DType dtype, const LossShape& shape, const void* dloss, const void* y,
                        const void* labels, void* dx, cudaStream_t stream);

}  // namespace headroom::cuda
