#pragma once

#include "report/profile.h"

namespace headroom {

// How well the watched steps use the device, as fractions with both of their parts: memcpy/kernel overlap,
// kernel concurrency, memcpy throughput, memcpy overlap and compute utilisation, as NVIDIA's visual profiler
// named them. Copies are those between host and device, and times are unions, not sums, except that of the
// throughput. On a CPU: compute utilisation, and the share of the time in which its threads work on kernels.
// A fraction without a denominator has no row.
Sheet rates_sheet(const RunProfile& profile);

}  // namespace headroom
