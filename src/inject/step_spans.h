#pragma once

#include <cstdint>
#include <vector>

#include "profile/trace.h"

namespace headroom::inject {

// An outer span before its inner ones, and how many are around each. A span that reaches beyond the one
// around it is cut there.
void place_spans(Trace& trace);

// Correlations of the first launch of a step, and of the next.
struct StepLaunches {
  std::int64_t first = 0, next = 0;
};

// Adds a span to the host's thread for each step of a rank, from its first launch to that of the next: a
// replay needs to know what the host does for a step. A step that a range of the program crosses gets none.
void add_step_spans(Trace& trace, int rank, const std::vector<StepLaunches>& steps);

}  // namespace headroom::inject
