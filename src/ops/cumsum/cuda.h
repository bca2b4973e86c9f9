#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// x is [outer, extent, inner].
struct CumsumShape {
  std::int64_t outer = 1, extent = 1, inner = 1;
  bool exclusive = false, reverse = false;
};

void cumsum(DType dtype, const CumsumShape& shape, const void* x, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
