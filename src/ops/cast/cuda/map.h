#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

enum class Through { nothing, fp16, bf16 };

// y = x, times scale where both are floats, rounded to a 16-bit type on the way.
void cast(DType from, DType to, std::int64_t n, double scale, Through through, const void* x, void* y,
          cudaStream_t stream);

}  // namespace headroom::cuda
