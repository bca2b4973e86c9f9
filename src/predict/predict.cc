#include "predict/predict.h"

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

StepPrediction floor_of(const Step& step, const Machine& machine, const Target& target) {
  const DType dtype = float_type(step.problem);
  const double products = product_peak(machine, dtype, target.policy.tf32);
  const double compute = time_at(step.cost.multiply_add, products) +
                         time_at(step.cost.other + step.cost.special, vector_peak(machine, dtype));
  const Machine::Level& level = machine.level_for(step.cost.bytes());
  const double memory = time_at(step.cost.bytes(), level.bytes_per_s);
  return {.floor_s = std::max(compute, memory), .bound = compute >= memory ? "compute" : level.name};
}

}  // namespace

double end_of_schedule(const Plan& plan, std::span<const double> seconds, std::span<const double> busy) {
  std::vector<double> ends(plan.steps.size());
  double of_stream[2] = {}, end = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    double& stream = of_stream[plan.steps[s].stream == 0 ? 0 : 1];
    double begin = stream;
    for (const int before : plan.steps[s].waits)
      begin = std::max(begin, ends[static_cast<std::size_t>(before)]);
    ends[s] = stream = begin + seconds[s];
    end = std::max(end, ends[s]);
  }
  return std::max(end, std::accumulate(busy.begin(), busy.end(), 0.0));
}

Prediction predict(const Plan& plan, const Machine& machine, const TimeModel& model) {
  Prediction prediction{.machine = machine.name, .model = std::string(model.name()), .steps = {}};
  const Target& target = plan.binding.target;
  prediction.has_times = (machine.kind == "cpu") == (target.device.kind == DeviceKind::cpu);
  prediction.basis = model.basis();
  std::vector<double> seconds, busy;
  for (const Step& step : plan.steps) {
    StepPrediction p = floor_of(step, machine, target);
    if (prediction.has_times) {
      const StepTime time = model.time(step, machine, target);
      const double exchange = exchange_seconds(step, machine, target);
      p.predicted_s = std::max(p.floor_s, time.seconds) + exchange;
      p.low_s = std::max(p.floor_s, time.low) + exchange;
      p.high_s = std::max(p.predicted_s, time.high + exchange);
      p.limit = exchange > time.seconds ? "exchange" : time.bound;
      busy.push_back(std::min(p.predicted_s, std::max(p.floor_s, time.busy) + exchange));
    }
    seconds.push_back(p.predicted_s);
    prediction.floor_s += p.floor_s;
    prediction.steps.push_back(std::move(p));
  }
  if (prediction.has_times) prediction.predicted_s = end_of_schedule(plan, seconds, busy);
  const TimeModel::Factors factors = model.run_factors();
  prediction.low_s = std::max(prediction.floor_s, factors.low * prediction.predicted_s);
  prediction.high_s = factors.high * prediction.predicted_s;
  return prediction;
}

}  // namespace headroom
