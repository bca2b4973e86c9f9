#pragma once

// What the plain C++ half of a GPU kernel needs: a stream to launch on, and shapes as plain data.

#include <vector>

#include "device/cuda/cuda_device.h"
#include "ops/cuda/loop.h"
#include "ops/kernel.h"

namespace headroom::cuda {

inline cudaStream_t stream_of(const LaunchArgs& args) {
  return static_cast<CudaStream*>(args.stream)->handle();
}

// The loops of ops/broadcast.h as kernels take them.
Loop loop_of(const Shape& out, const std::vector<Shape>& operands);

}  // namespace headroom::cuda
