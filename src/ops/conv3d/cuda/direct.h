#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/conv3d/shape.h"

namespace headroom::cuda {

void conv3d(DType dtype, const Conv3d& conv, const void* x, const void* w, const void* bias, void* y,
            cudaStream_t stream);
void conv3d_grad_input(DType dtype, const Conv3d& conv, const void* dy, const void* w, void* dx,
                       cudaStream_t stream);
void conv3d_grad_weight(DType dtype, const Conv3d& conv, const void* x, const void* dy, void* dw,
                        cudaStream_t stream);

}  // namespace headroom::cuda
