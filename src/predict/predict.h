#pragma once

#include <span>
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
  std::string bound;             // what sets the floor: "compute", or a memory level
  double predicted_s = 0;        // 0 if the plan's kernels are for another kind of machine
  double low_s = 0, high_s = 0;  // 90 % interval of it
  std::string limit;             // what takes most of it
};

struct Prediction {
  std::string machine;
  std::string model = {};  // the time model used
  std::vector<StepPrediction> steps;
  double floor_s = 0, predicted_s = 0;
  double low_s = 0, high_s = 0;  // 90 % interval of the whole run
  TimeModel::Basis basis = TimeModel::Basis::assumed;
  bool has_times = false;  // false: floors only
};

Prediction predict(const Plan& plan, const Machine& machine, const TimeModel& model = default_time_model());

// The end of a run whose steps take these times: each stream does its steps in order, a step waits for those
// it names, and what keeps the device busy (`busy`, at most `seconds`) adds up over all streams.
double end_of_schedule(const Plan& plan, std::span<const double> seconds, std::span<const double> busy);

}  // namespace headroom
