#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// x is [outer, extent, inner], the results are [outer, k, inner].
struct TopKShape {
  std::int64_t outer = 1, extent = 1, inner = 1, k = 1;
  bool largest = true;
};

void top_k(DType dtype, const TopKShape& shape, const void* x, void* values, std::int64_t* indices,
           cudaStream_t stream);

}  // namespace headroom::cuda
