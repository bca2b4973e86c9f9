#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/bias_grad/splits.h"

namespace headroom::cuda {

// db[c] = the sum of dy[rows, channels, plane] over rows and plane. parts: splits * channels sums, fp64 ones
// where dy is fp64, else fp32.
void bias_grad(DType dtype, const BiasSplits& splits, std::int64_t rows, std::int64_t channels,
               std::int64_t plane, const void* dy, void* parts, void* db, cudaStream_t stream);

}  // namespace headroom::cuda
