#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/tensor_table.h"

namespace headroom::cuda {

// Tensors of a table, at[0] to at[1], in one launch; one of the types is fp32, the other of 16 bits.
inline constexpr std::int64_t kCastChunk = 8192;
void cast_all(DType from, DType to, double scale, const TensorTable& table, cudaStream_t stream);

}  // namespace headroom::cuda
