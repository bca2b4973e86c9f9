#pragma once

#include "profile/run_facts.h"

namespace headroom {

GpuDescription describe_gpu(Device& device);  // an open device of CUDA

}  // namespace headroom
