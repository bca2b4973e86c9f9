#pragma once

// For both C++ and CUDA sources: needs only the runtime's own header.

#include <cuda_runtime_api.h>

namespace headroom::cuda {

// Throws CUDA's message for a failed call, with the location of the call.
void check(cudaError_t error, const char* call, const char* file, int line);

}  // namespace headroom::cuda

#define HEADROOM_CUDA_CHECK(call) ::headroom::cuda::check((call), #call, __FILE__, __LINE__)

// Use after every kernel launch: a launch that could not start is reported here, not in a later call.
#define HEADROOM_CUDA_LAUNCHED() \
  ::headroom::cuda::check(cudaPeekAtLastError(), "kernel launch", __FILE__, __LINE__)
