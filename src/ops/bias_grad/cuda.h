#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/bias_grad/splits.h"
#include "ops/rows_split.h"

namespace headroom::cuda {

// db[c] = the sum of dy[rows, channels, plane] over rows and plane. parts: splits * channels sums, fp64 ones
// where dy is fp64, else fp32.
void bias_grad(DType dtype, const BiasSplits& splits, std::int64_t rows, std::int64_t channels,
               std::int64_t plane, const void* dy, void* parts, void* db, cudaStream_t stream);

// The same of a matrix whose rows are packs of 16 bytes. y: relu's output, where g = dy behind relu is
// wanted. parts: split.parts * channels fp64 sums.
void bias_grad_rows(DType dtype, const RowsSplit& split, const void* dy, const void* y, void* g,
                    double* parts, void* db, cudaStream_t stream);

}  // namespace headroom::cuda
