#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/tensor_table.h"

namespace headroom::cuda {

// Elements per block and, so, per partial sum.
inline constexpr std::int64_t kSquaresChunk = 4096;

// Leaves the sums of the table's squares in parts[before, before + blocks). If `finish`, also
// y = base + scale * (all parts so far); base may be null.
void squares(DType dtype, const TensorTable& table, double* parts, unsigned before, bool finish, double scale,
             const void* base, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
