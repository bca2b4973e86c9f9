#pragma once

// For both C++ and CUDA sources.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace headroom::cuda {

// y = x + y, one element at a time, by one block: as in the tutorial.
void launch_vadd_block(int threads, std::int64_t n, const float* x, float* y, cudaStream_t stream);

// The same by the whole GPU, 16 bytes at a time. x and y must be aligned to 16 bytes. Returns the number of
// blocks, which have kVaddThreads threads each.
inline constexpr int kVaddThreads = 256;
int launch_vadd_grid(int multiprocessors, std::int64_t n, const float* x, float* y, cudaStream_t stream);

}  // namespace headroom::cuda
