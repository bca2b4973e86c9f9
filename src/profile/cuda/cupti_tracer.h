#pragma once

#include <memory>

#include "profile/kernel_tracer.h"

namespace headroom {

std::unique_ptr<KernelTracer> make_cupti_tracer(Device& device, const TracerOptions& options);

}  // namespace headroom
