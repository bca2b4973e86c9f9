#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/loop.h"

namespace headroom::cuda {

// y = c ? a : b, all stretched; a or b may be null, which stands for zeros.
void where(DType dtype, const Loop& loop, const std::uint8_t* c, const void* a, const void* b, void* y,
           cudaStream_t stream);

}  // namespace headroom::cuda
