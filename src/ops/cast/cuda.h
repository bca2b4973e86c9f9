#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// y = x, times scale where both are floats.
void cast(DType from, DType to, std::int64_t n, double scale, const void* x, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
