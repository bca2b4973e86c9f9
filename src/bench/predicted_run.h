#pragma once

#include "predict/predict.h"

namespace headroom {

// The predicted time of a run, to stand beside its measured one.
struct PredictedRun {
  double seconds = 0, low = 0, high = 0;  // 0: not predicted
  TimeModel::Basis basis = TimeModel::Basis::assumed;
};
// Runs that are queued one behind the other, or each waited for by the host before the next begins.
enum class RunsAre { queued, waited_for };
PredictedRun predicted_run(const Prediction& prediction, RunsAre runs = RunsAre::queued);
// By the model that knows the machine best.
PredictedRun predicted_run(const Plan& plan, const Machine& machine, RunsAre runs = RunsAre::queued);

}  // namespace headroom
