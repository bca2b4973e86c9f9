#pragma once

#include <memory>

#include "profile/sampler.h"

namespace headroom {

// Every GPU that the driver shows, by NVML, the library that comes with it. Without driver or library the
// source has no series, and absent() says why.
std::unique_ptr<SampleSource> nvml_source();

}  // namespace headroom
