#pragma once

// "cuda:slices": fp32 products that are too small to fill the device with tiles of 64 x 64. A block takes 32
// x 32 outputs, and its warps share k: each multiplies its slice by tensor cores, straight from global
// memory, and the sums meet in shared memory. What takes the time of such a product is waiting, for loads and
// for the steps of k after one another: here all warps wait at once, and no step waits for a barrier.

#include <cuda_runtime_api.h>

#include "ops/product/product.h"

namespace headroom::cuda {

struct SliceArgs {
  const float *a, *b, *bias;  // bias may be null
  float* c;
  std::int64_t m, n, k, lda, ldb, ldc;
  std::int64_t k_per_warp;         // a multiple of 16
  bool whole_a, whole_b, whole_c;  // 16-byte accesses are allowed
  Activation finish;
};

// `along`: contiguous along k. `exact`: three products of tf32 parts, else one.
struct SliceLayout {
  bool along_a, along_b, exact;
};
void multiply_slices(const SliceLayout& layout, int warps, const SliceArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
