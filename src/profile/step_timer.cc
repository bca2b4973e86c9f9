#include "profile/step_timer.h"

#include "base/units.h"

namespace headroom {

double timer_overhead_seconds() {
  constexpr std::size_t kRuns = 1000;
  StepTimer timer(1, kRuns);
  for (std::size_t i = 0; i < kRuns; ++i) {
    timer.begin(0);
    timer.end(0);
  }
  return spread_of(timer.samples(0)).median;
}

}  // namespace headroom
