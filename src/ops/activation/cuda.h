#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

enum class Curve { relu, sigmoid, tanh };

// out = f(in), or in * f'(x) by the output y = f(x) where y is given.
void activate(DType dtype, Curve curve, std::int64_t n, const void* in, const void* y, void* out,
              cudaStream_t stream);

}  // namespace headroom::cuda
