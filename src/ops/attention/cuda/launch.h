#pragma once

// What both halves of the GPU kernels know. Each kernel's launcher is declared in the C++ file of its name.

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// As AttentionProblem.
struct AttentionShape {
  std::int64_t batch, time, heads, width;
  bool causal;
  double scale;
};

// Of either direction; lse and along are fp64 beside fp64, else fp32. along: scratch, one number per row.
struct AttentionData {
  const void* qkv = nullptr;
  void *y = nullptr, *lse = nullptr;  // forward: written
  const void* dy = nullptr;           // null: forward
  void *dqkv = nullptr, *along = nullptr;
};

// along[b][h][t] = sum of dy * y over the row: what all gradients begin with.
void attention_along(DType dtype, const AttentionShape& shape, const AttentionData& data,
                     cudaStream_t stream);

}  // namespace headroom::cuda
