#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/loop.h"

namespace headroom::cuda {

// y = scale * x, stretched; loop.step[…][0] are the steps of x.
void expand(DType dtype, const Loop& loop, double scale, const void* x, void* y, cudaStream_t stream);

// The same for elements that are only moved.
void stretch_bytes(int element_bytes, const Loop& loop, const void* x, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
