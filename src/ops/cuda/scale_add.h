#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// out = alpha out + beta add, `count` elements without gaps. Null: nothing is added.
void scale_add(DType dtype, double alpha, double beta, const void* add, void* out, std::int64_t count,
               cudaStream_t stream);

}  // namespace headroom::cuda
