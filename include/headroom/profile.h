#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/predict.h"
#include "headroom/timer.h"

namespace headroom {

// The time training took, and the lower bound on this machine.
struct Profile {
  std::string model, machine, precision;
  std::int64_t batch = 0;
  int threads = 0;
  std::int64_t samples = 0;        // number of timed steps
  double step_s = 0;               // median of a whole step
  std::vector<LayerTimes> layers;  // medians of one step, and floors
  double floor_s = 0, predicted_s = 0;
  std::vector<TimerRow> timers;  // of the model's Timer
  std::string text() const;      // both as tables
};

}  // namespace headroom
