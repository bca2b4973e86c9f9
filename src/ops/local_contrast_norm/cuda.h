#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// ContrastProblem as kernels take it.
struct Contrast {
  std::int64_t images = 1, channels = 1, height = 1, width = 1, reach = 0;
};

// workspace: six planes of one number a pixel and two numbers for each image, fp64 where dtype is, else fp32.
void local_contrast_norm(DType dtype, const Contrast& problem, const void* x, void* workspace, void* y,
                         cudaStream_t stream);
void local_contrast_norm_grad(DType dtype, const Contrast& problem, const void* dy, const void* x,
                              void* workspace, void* dx, cudaStream_t stream);

}  // namespace headroom::cuda
