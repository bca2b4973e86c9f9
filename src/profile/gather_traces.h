#pragma once

#include "comm/groups.h"
#include "profile/trace.h"

namespace headroom {

// The traces of all ranks, on every rank, on the clock of `own`, which starts at `origin_ns`. All ranks call
// it. Ranks of one host share a clock.
Trace gather_traces(const Trace& own, std::int64_t origin_ns, Groups& groups);

}  // namespace headroom
