#pragma once

// Places in tensors from the number of a thread.

#include "ops/cuda/types.cuh"

namespace headroom::cuda {

struct Cut {
  std::int64_t whole, rest;
};

// n / by and n % by; in 32 bits where they fit, which is several times cheaper. Neither is negative.
__device__ inline Cut cut(std::int64_t n, std::int64_t by) {
  if (((n | by) >> 32) == 0) {
    const auto a = static_cast<unsigned>(n), b = static_cast<unsigned>(by), q = a / b;
    return {q, a - q * b};
  }
  const std::int64_t q = n / by;
  return {q, n - q * by};
}

__device__ inline std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t thread_count() { return std::int64_t{gridDim.x} * blockDim.x; }

// For kernels that step through what is left: enough blocks to fill any GPU of today several times over, and
// few enough that starting them is nothing.
inline unsigned blocks_striding(std::int64_t work, std::int64_t per_block = kThreads) {
  constexpr unsigned kMax = 132 * 64;
  const unsigned blocks = blocks_for(work, per_block);
  return blocks < kMax ? blocks : kMax;
}

// The extents that an address and a row's length allow to move at once: a multiple of the type's size.
inline bool aligned_to(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<unsigned long long>(pointer) % bytes == 0;
}

}  // namespace headroom::cuda
