#include "predict/predict.h"

#include <algorithm>

namespace headroom {
namespace {

StepPrediction floor_of(const Step& step, const Machine& machine, const Target& target) {
  const DType dtype = float_type(step.problem);
  const double products = product_peak(machine, dtype, target.policy.tf32);
  const double compute = time_at(step.cost.multiply_add, products) +
                         time_at(step.cost.other + step.cost.special, vector_peak(machine, dtype));
  const Machine::Level& level = machine.level_for(step.cost.bytes());
  const double memory = time_at(step.cost.bytes(), level.bytes_per_s);
  return {std::max(compute, memory), compute >= memory ? "compute" : level.name, 0};
}

}  // namespace

Prediction predict(const Plan& plan, const Machine& machine, const TimeModel& model) {
  Prediction prediction{.machine = machine.name, .model = std::string(model.name()), .steps = {}};
  const Target& target = plan.binding.target;
  prediction.has_times = (machine.kind == "cpu") == (target.device.kind == DeviceKind::cpu);
  for (const Step& step : plan.steps) {
    StepPrediction p = floor_of(step, machine, target);
    if (prediction.has_times)
      p.predicted_s =
          std::max(p.floor_s, model.seconds(step, machine, target)) + exchange_seconds(step, machine, target);
    prediction.floor_s += p.floor_s;
    prediction.predicted_s += p.predicted_s;
    prediction.steps.push_back(std::move(p));
  }
  return prediction;
}

}  // namespace headroom
