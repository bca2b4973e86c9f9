#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/roi_align/bins.h"

namespace headroom::cuda {

void roi_align(DType dtype, const RoiShape& shape, bool wide_images, const void* x, const void* regions,
               const void* images, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
