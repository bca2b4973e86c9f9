#pragma once

#include "device/device.h"
#include "profile/gpu_sampling.h"

namespace headroom {

std::unique_ptr<GpuSampler> make_cupti_sampler(Device& device, std::int64_t interval_ns);

}  // namespace headroom
