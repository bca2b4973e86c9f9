#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// x is [outer, extent, inner], y [outer, inner].
struct ArgShape {
  std::int64_t outer = 1, extent = 1, inner = 1;
  bool least = false, last = false;
};

void arg_max(DType dtype, const ArgShape& shape, const void* x, std::int64_t* y, cudaStream_t stream);

}  // namespace headroom::cuda
