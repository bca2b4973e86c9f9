#pragma once

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

// fp32 is computed in tf32 by attention_mma, and as it is by the others.
void attention_mma(DType dtype, const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
void attention_tiles(DType dtype, const AttentionShape& shape, const AttentionData& data,
                     cudaStream_t stream);
void attention_rows(DType dtype, const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);

// along[b][h][t] = sum of dy * y over the row: what all gradients begin with.
void attention_along(DType dtype, const AttentionShape& shape, const AttentionData& data,
                     cudaStream_t stream);

// attention_mma by element type, each in a file of its own.
void attention_mma_f16(const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
void attention_mma_bf16(const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
void attention_mma_tf32(const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);

}  // namespace headroom::cuda
