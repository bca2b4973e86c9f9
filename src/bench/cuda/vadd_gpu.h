#pragma once

#include "bench/vadd.h"

namespace headroom::cuda {

// One row of the benchmark: checks the sums, then times copies and addition apart. `gpu` must be a CUDA
// device.
VaddTiming time_vadd(Device& gpu, std::int64_t elements, VaddLaunch launch, VaddMemory memory);

}  // namespace headroom::cuda
