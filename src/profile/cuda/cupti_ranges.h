#pragma once

#include "profile/range_counter.h"

namespace headroom {

std::string cupti_chip_of(int device);  // "GH100"; throws without CUPTI

// Counts in the context that is current on this thread, of this device. Throws if it cannot be counted, and
// says why: no CUPTI, no right, another profiler.
std::unique_ptr<RangeCounter> make_cupti_ranges(int device, const std::vector<std::string>& counters);

}  // namespace headroom
