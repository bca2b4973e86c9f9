#pragma once

#include "bench/conv2d_ladder.h"

namespace headroom {

// The rungs of the forward pass, in the order of the climb; the gradients have those whose kernels take them.
std::vector<Rung> conv2d_cpu_rungs();
std::vector<Rung> conv2d_gpu_rungs();

}  // namespace headroom
