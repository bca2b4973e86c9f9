#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace headroom::cuda {

inline constexpr std::size_t kMaxStored = 8;  // bytes: one number

// Writes a number to the device, in the order of the stream. It travels as an argument of a kernel: the
// call copies it and returns, whereas a copy from pageable memory may first wait for the stream.
void store(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace headroom::cuda
