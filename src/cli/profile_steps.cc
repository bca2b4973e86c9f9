#include "cli/profile_steps.h"

#include <algorithm>

namespace headroom::cli {

std::int64_t steps_needed(const StepWatch& watch) {
  std::int64_t steps = 1;  // the one that finds the watch done
  for (const StepWatch* w = &watch; w != nullptr; w = w->next) steps += w->skip + w->warm_up + w->steps;
  return steps;
}

// A watch starts anew after a capture: then more steps run than it needs at the least.
void StepsOfProfile::on_step(std::int64_t step, std::int64_t of, double loss) {
  other_.on_step(step, std::min(of, std::max(step, steps_)), loss);
}

}  // namespace headroom::cli
