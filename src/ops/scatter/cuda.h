#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// Data is [extent, inner], updates are [count, inner].
struct ScatterShape {
  std::int64_t extent = 1, inner = 1, count = 1;
  bool wide_places = false;  // int64, else int32
  int reduction = 0;         // a Reduction of combine.h
};

void scatter(DType dtype, const ScatterShape& shape, const void* data, const void* places,
             const void* updates, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
