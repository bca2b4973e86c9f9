#include "bench/predicted_run.h"

#include "timing/step_model.h"

namespace headroom {

PredictedRun predicted_run(const Prediction& p, RunsAre runs) {
  if (runs == RunsAre::queued || p.predicted_s <= 0) return {p.predicted_s, p.low_s, p.high_s, p.basis};
  // The wait is measured: it adds no doubt.
  return {p.predicted_s + p.wait_s, p.low_s + p.wait_s, p.high_s + p.wait_s, p.basis};
}

PredictedRun predicted_run(const Plan& plan, const Machine& machine, RunsAre runs) {
  return predicted_run(predict(plan, machine, time_model_for(machine)), runs);
}

}  // namespace headroom
