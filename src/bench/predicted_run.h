#pragma once

#include "predict/predict.h"

namespace headroom {

// The predicted time of a run, to stand beside its measured one.
struct PredictedRun {
  double seconds = 0, low = 0, high = 0;  // 0: not predicted
  TimeModel::Basis basis = TimeModel::Basis::assumed;
};
PredictedRun predicted_run(const Prediction& prediction);
// By the model that knows the machine best.
PredictedRun predicted_run(const Plan& plan, const Machine& machine);

}  // namespace headroom
