#pragma once

#include <string>

#include "profile/trace.h"

namespace headroom::inject {

struct StepRule {
  std::string range;   // a step is a range of this name; empty: by the repeating sequence of launches
  int max_steps = 20;  // the last ones
};

// Sets the windows of a trace that was recorded from outside, so that its tables are about steps, and says
// how in a sentence. Where no steps are found, one window holds everything that was recorded.
std::string set_step_windows(Trace& trace, const StepRule& rule);

}  // namespace headroom::inject
