#pragma once

#include <cuda_runtime_api.h>

#include "ops/cuda/loop.h"

namespace headroom::cuda {

// y = c ? a : b, all stretched, elements of any type by their size; a or b may be null, which stands for
// zeros.
void where(int element_bytes, const Loop& loop, const std::uint8_t* c, const void* a, const void* b, void* y,
           cudaStream_t stream);

}  // namespace headroom::cuda
