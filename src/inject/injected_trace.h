#pragma once

#include "inject/records.h"
#include "profile/trace.h"

namespace headroom::inject {

// The windows of all processes as one trace, a rank each, on a clock that starts with the first event.
// Kernels and copies know the range that launched them, by its path ("step > forward"): those of a graph the
// range in which their node was made, others the range around their call.
Trace trace_of(const std::vector<ProcessRecord>& processes);
// When that clock starts, in nanoseconds since 1970.
std::int64_t origin_of(const std::vector<ProcessRecord>& processes);

}  // namespace headroom::inject
