#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/pool3d/shape.h"

namespace headroom::cuda {

void max_pool3d(DType dtype, const Pool3d& pool, const void* x, void* y, cudaStream_t stream);
void mean_pool3d(DType dtype, const Pool3d& pool, const void* x, void* y, cudaStream_t stream);
// places: an int64 for each output.
void max_pool3d_grad(DType dtype, const Pool3d& pool, const void* dy, const void* x, std::int64_t* places,
                     void* dx, cudaStream_t stream);
void mean_pool3d_grad(DType dtype, const Pool3d& pool, const void* dy, void* dx, cudaStream_t stream);

}  // namespace headroom::cuda
