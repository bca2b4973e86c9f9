#pragma once

// Batch normalisation on the device, as plain data. Planes of some length are read channel by channel; short
// ones, and [N, C], as a matrix of N rows whose columns belong to channels.

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/batch_norm/cuda/split.h"

namespace headroom::cuda {

enum class BatchNormKind { training, inference, training_grad, inference_grad };

struct BatchNorm {
  std::int64_t rows = 1, channels = 1, plane = 1;
  double epsilon = 1e-5, momentum = 0.1;
  BatchNormKind kind = BatchNormKind::training;
  DType dtype = DType::f32, parameters = DType::f32;  // of x, and of scale, bias and running statistics
  BatchNormSplit split;
};

// What a kind does not have is null.
struct BatchNormTensors {
  const void *x = nullptr, *dy = nullptr;
  const void *scale = nullptr, *bias = nullptr;
  const void *mean = nullptr,
             *var = nullptr;  // running statistics; training_grad: saved mean and inv_std, fp64
  void* y = nullptr;          // or dx
  void *new_mean = nullptr, *new_var = nullptr;
  double *saved_mean = nullptr, *saved_inv_std = nullptr;
  void *dscale = nullptr, *dbias = nullptr;
  void* workspace = nullptr;
};

void batch_norm(const BatchNorm& problem, const BatchNormTensors& tensors, cudaStream_t stream);
void batch_norm_columns(const BatchNorm& problem, const BatchNormTensors& tensors, cudaStream_t stream);

}  // namespace headroom::cuda
