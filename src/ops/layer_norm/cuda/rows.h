#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct LayerNorm {
  std::int64_t rows = 1, columns = 1, parts = 1;
  double epsilon = 1e-5;
  DType dtype = DType::f32, parameters = DType::f32;  // of x, and of scale and bias
};

void layer_norm(const LayerNorm& problem, const void* x, const void* scale, const void* bias, void* y,
                double* mean, double* inv_std, cudaStream_t stream);

struct LayerNormGrad {
  const void *dy, *x, *scale;
  const double *mean, *inv_std;
  void *dx, *dscale, *dbias;
  void* workspace;
};
void layer_norm_grad(const LayerNorm& problem, const LayerNormGrad& tensors, cudaStream_t stream);

}  // namespace headroom::cuda
