#pragma once

// Batch normalisation of a matrix of places x channels, with relu and the sum before it, as plain data.

#include "ops/batch_norm/cuda/channels.h"
#include "ops/rows_split.h"

namespace headroom::cuda {

struct NormRows {
  RowsSplit split;
  double epsilon = 1e-5, momentum = 0.1;
  BatchNormKind kind = BatchNormKind::training;       // any but inference_grad
  DType dtype = DType::f32, parameters = DType::f32;  // of x, not fp64; of scale, bias and running statistics
  bool relu = false;
};

// What a problem does not have is null.
struct NormRowsTensors {
  const void *x = nullptr, *residual = nullptr, *scale = nullptr, *bias = nullptr;
  const void *mean = nullptr, *var = nullptr;  // running statistics; backwards saved mean and inv_std, fp64
  void* out = nullptr;                         // y, or dx
  void *new_mean = nullptr, *new_var = nullptr;
  double *saved_mean = nullptr, *saved_inv_std = nullptr;
  const void *dy = nullptr, *y = nullptr, *dy2 = nullptr;
  void *g = nullptr, *dscale = nullptr, *dbias = nullptr;
  void* workspace = nullptr;
};

void batch_norm_rows(const NormRows& problem, const NormRowsTensors& tensors, cudaStream_t stream);

}  // namespace headroom::cuda
