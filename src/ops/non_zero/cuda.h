#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct NonZeroShape {
  int rank = 1;
  std::int64_t extent[8] = {};
  std::int64_t numel = 1;
};

void non_zero(DType dtype, const NonZeroShape& shape, const void* x, std::int64_t* places,
              std::int64_t* count, cudaStream_t stream);

}  // namespace headroom::cuda
