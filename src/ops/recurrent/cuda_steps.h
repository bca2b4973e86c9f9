#pragma once

#include "ops/kernel.h"

namespace headroom {

// In builds with CUDA.
Launcher prepare_recurrent_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_recurrent_grad_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
