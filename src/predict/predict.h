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
  double wait_s = 0;             // more if the host waits for its end: runs are taken to be queued
  TimeModel::Basis basis = TimeModel::Basis::assumed;
  bool has_times = false;  // false: floors only
  // The batch from the host to a GPU, by its copy engine; 0: nothing to copy, or no link is known. It is part
  // of the run only where `wait_for_copies` says so: data usually stays on the device.
  double copies_s = 0;
};

Prediction predict(const Plan& plan, const Machine& machine, const TimeModel& model);
Prediction predict(const Plan& plan, const Machine& machine);  // by the built-in constants

// For data that does not stay on the device: copies run behind the step before, so that a run takes as long
// as the longer of the two.
void wait_for_copies(Prediction& prediction);

// The error to expect of a run, from the times of its steps and the errors to expect of them: some of it is
// shared by all steps, the rest differs from step to step and evens out.
double doubt_of_run(std::span<const double> seconds, std::span<const double> doubts);

// A step of a run, with its times.
struct ScheduledStep {
  double seconds = 0, gap = 0;
  double busy = 0;  // at most `seconds`
  int stream = 0;
  std::span<const int> waits;  // for the ends of these earlier steps
};
// The end of the run: each stream does its steps in order, a step waits for those it names, and what keeps
// the device busy adds up over all streams.
double end_of_schedule(std::span<const ScheduledStep> steps);

}  // namespace headroom
