#pragma once

#include "base/sheet.h"
#include "profile/trace.h"

namespace headroom {

// Copies of the trace's windows by kind and by the host's memory, the most time first: count, bytes, time,
// GB/s, percent of the link between host and device. Rates are bytes by the time of the copies themselves.
// `link_bytes_per_s` 0: not known. Then the pages of managed memory that the driver moved, and the faults
// that made it; the total does not count them.
Sheet copies_sheet(const Trace& trace, double link_bytes_per_s = 0);

}  // namespace headroom
