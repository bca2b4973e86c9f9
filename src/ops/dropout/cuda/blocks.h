#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct Dropout {
  std::int64_t n, first;  // elements here, and the place of the first one in the whole batch
  std::uint64_t seed, key, threshold;
  double scale;  // of those that stay
};

// step: the number of the update, in device memory.
void dropout(DType dtype, const Dropout& how, const double* step, const void* x, void* y,
             cudaStream_t stream);

}  // namespace headroom::cuda
