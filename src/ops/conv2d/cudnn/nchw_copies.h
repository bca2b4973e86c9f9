#pragma once

#include "ops/conv2d/conv2d.h"

namespace headroom {

// NHWC by our own kernels, which read NCHW: tensors are transposed on their way in and out. For what the
// library may not know: groups and dilated windows.
bool takes_nchw_copies(const Problem& problem);
std::size_t nchw_copies_workspace(const Problem& problem, const Target& target);  // of copies and kernel
// In builds with CUDA.
Launcher prepare_nchw_copies(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
