#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/loop.h"

namespace headroom::cuda {

// y = a `how` b, both stretched; `how` is a Comparison of compare.h as a number.
void compare(DType dtype, int how, const Loop& loop, const void* a, const void* b, std::uint8_t* y,
             cudaStream_t stream);

}  // namespace headroom::cuda
