#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"
#include "plan/plan.h"
#include "predict/time_model.h"

namespace headroom {

// The reading that needs no hardware. The floor comes from the necessary work (the schema's cost), the
// predicted time from the work of the chosen kernel, by a time model.
struct StepPrediction {
  double floor_s = 0;
  std::string bound;       // what sets the floor: "compute", or a memory level
  double predicted_s = 0;  // 0 if the plan's kernels are for another kind of machine
};

struct Prediction {
  std::string machine;
  std::string model = {};  // the time model used
  std::vector<StepPrediction> steps;
  double floor_s = 0, predicted_s = 0;
  bool has_times = false;  // false: floors only
};

Prediction predict(const Plan& plan, const Machine& machine, const TimeModel& model = default_time_model());

}  // namespace headroom
