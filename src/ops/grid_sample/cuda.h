#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/grid_sample/taps.h"

namespace headroom::cuda {

void grid_sample(DType dtype, const GridShape& shape, const void* x, const void* grid, void* y,
                 cudaStream_t stream);

}  // namespace headroom::cuda
