#pragma once

#include "base/sheet.h"
#include "profile/trace_scope.h"

namespace headroom {

// TAU's flat profile, from spans: % time, exclusive, inclusive, calls, subroutines, inclusive per call, name.
// Time is the part within the trace's windows. % is inclusive time by the time of the outermost spans.
// A span inside another of its name adds to calls, but not again to inclusive time.

// One row per name of each thread of each rank, threads in the order of the trace.
Sheet flat_sheet(const Trace& trace, TracePart part = TracePart::windows);
// The sum over all threads of all ranks, and the mean of a thread.
Sheet flat_sum_sheet(const Trace& trace, TracePart part = TracePart::windows);

}  // namespace headroom
