#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

void cast(DType from, DType to, std::int64_t n, const void* x, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
