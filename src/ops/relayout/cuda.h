#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// y[b][c][r] = x[b][r][c] * scale for b < batch; from one float type to another where one of them is fp32.
struct Relayout {
  std::int64_t batch = 1, rows = 1, columns = 1;
  double scale = 1;
};
void relayout(DType from, DType to, const Relayout& problem, const void* x, void* y, cudaStream_t stream);

}  // namespace headroom::cuda
