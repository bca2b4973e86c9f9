#include "bench/predicted_run.h"

#include "timing/step_model.h"

namespace headroom {

PredictedRun predicted_run(const Prediction& prediction) {
  return {prediction.predicted_s, prediction.low_s, prediction.high_s, prediction.basis};
}

PredictedRun predicted_run(const Plan& plan, const Machine& machine) {
  return predicted_run(predict(plan, machine, time_model_for(machine)));
}

}  // namespace headroom
