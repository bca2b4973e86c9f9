#pragma once

// Launchers of the kernels that run before and after those of the library.

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/conv2d/cuda/sweep.h"
#include "ops/conv2d/cudnn/folding.h"

namespace headroom::cuda {

// The copy, all of it; and images from one: what lies inside them. Copies are aligned to 16 bytes.
void conv2d_fold(DType dtype, const Folding& f, const void* images, void* copy, cudaStream_t stream);
void conv2d_unfold(DType dtype, const Folding& f, const void* copy, void* images, cudaStream_t stream);

// y = f(y + bias) in place, for products that do not fuse it.
void conv2d_finish(DType dtype, const Sweep& s, const void* bias, void* y, cudaStream_t stream);

// The same for NHWC: rows of `maps`.
void conv2d_finish_rows(DType dtype, std::int64_t rows, int maps, int activation, const void* bias, void* y,
                        cudaStream_t stream);

}  // namespace headroom::cuda
