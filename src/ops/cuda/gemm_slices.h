#pragma once

// "cuda:slices": fp32 products that are too small to fill the device with tiles of 64 x 64. A block takes 32
// x 32 outputs, and its warps share k: each multiplies its slice by tensor cores, straight from global
// memory, and the sums meet in shared memory. What takes the time of such a product is waiting, for loads and
// for the steps of k after one another: here all warps wait at once, and no step waits for a barrier.

#include <cuda_runtime_api.h>

#include "ops/cuda/small_product.h"

namespace headroom::cuda {

struct SliceArgs : SmallProduct {
  std::int64_t k_per_warp;  // a multiple of 16
};
void multiply_slices(const SmallLayout& layout, int warps, const SliceArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
