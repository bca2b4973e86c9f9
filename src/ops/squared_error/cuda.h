#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// loss = sum of (a - b)^2 / count; parts: a double for each of `blocks` blocks.
void squared_error(DType dtype, std::int64_t n, double count, std::int64_t blocks, const void* a,
                   const void* b, double* parts, void* loss, cudaStream_t stream);
// out = dloss * 2 (a - b) / count
void squared_error_grad(DType dtype, std::int64_t n, double count, const void* dloss, const void* a,
                        const void* b, void* out, cudaStream_t stream);
void one_hot(DType dtype, std::int64_t rows, std::int64_t classes, const void* labels, bool wide_labels,
             void* y, cudaStream_t stream);

}  // namespace headroom::cuda
