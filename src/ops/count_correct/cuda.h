#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

void count_correct(DType dtype, std::int64_t rows, std::int64_t classes, const void* scores,
                   const void* labels, bool wide_labels, void* count, cudaStream_t stream);

}  // namespace headroom::cuda
