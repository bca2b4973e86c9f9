#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct Lrn {
  std::int64_t rows = 1, channels = 1, plane = 1;
  std::int64_t before = 0, after = 0;
  double factor = 0, beta = 0.75, bias = 1;
};

void lrn(DType dtype, const Lrn& problem, const void* x, void* y, cudaStream_t stream);
// workspace: two numbers for each element, fp64 where dtype is, else fp32.
void lrn_grad(DType dtype, const Lrn& problem, const void* dy, const void* x, void* workspace, void* dx,
              cudaStream_t stream);

}  // namespace headroom::cuda
