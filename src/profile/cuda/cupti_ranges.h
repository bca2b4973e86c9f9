#pragma once

#include "device/device.h"
#include "profile/range_counter.h"

namespace headroom {

std::string cupti_chip_of(Device& device);  // "GH100"; throws without CUPTI

// Throws if the device cannot be counted, and says why: no CUPTI, no right, another profiler.
std::unique_ptr<RangeCounter> make_cupti_ranges(Device& device, const std::vector<std::string>& counters);

}  // namespace headroom
