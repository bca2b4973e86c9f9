#pragma once

// For C++ and CUDA sources alike: nothing here needs more than the runtime's own header.

#include <cuda_runtime_api.h>

namespace headroom::cuda {

// Throws what CUDA says of a failed call, and where the call stands.
void check(cudaError_t error, const char* call, const char* file, int line);

}  // namespace headroom::cuda

#define HEADROOM_CUDA_CHECK(call) ::headroom::cuda::check((call), #call, __FILE__, __LINE__)

// After every kernel launch: a launch that could not start says so here, not in some later call.
#define HEADROOM_CUDA_LAUNCHED() \
  ::headroom::cuda::check(cudaPeekAtLastError(), "kernel launch", __FILE__, __LINE__)
