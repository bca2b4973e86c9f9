#include "predict/predict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ops/cpu/bf16_tile.h"
#include "plan/streams.h"

namespace headroom {
namespace {

// Exact fp32 as a sum of products of bf16, on a CPU that multiplies tiles of those.
double peak_in_parts(const Step& step, const Machine& machine, const Target& target) {
  const auto rate = machine.peak_flops.find("bf16");
  const bool in_parts = machine.kind == "cpu" && !target.policy.bf16 && !step.work.launches.empty() &&
                        step.work.launches.front().unit == Unit::bf16;
  return in_parts && rate != machine.peak_flops.end() ? rate->second / bf16::kProductsOfParts : 0;
}

StepPrediction floor_of(const Step& step, const Machine& machine, const Target& target) {
  const DType dtype = float_type(step.problem);
  const DType factors = product_type(step.problem);
  const double products =
      std::max(product_peak(machine, target.policy.bf16 && factors == DType::f32 ? DType::bf16 : factors,
                            target.policy.tf32),
               peak_in_parts(step, machine, target));
  const double multiply_add =
      step.work.fewer_products ? std::min(step.cost.multiply_add, step.work.flops()) : step.cost.multiply_add;
  const double compute = time_at(multiply_add, products) +
                         time_at(step.cost.other + step.cost.special, vector_peak(machine, dtype));
  const Machine::Level& level = machine.level_for(step.cost.bytes());
  const double memory = time_at(step.cost.bytes(), level.bytes_per_s);
  return {.floor_s = std::max(compute, memory), .bound = compute >= memory ? "compute" : level.name};
}

double copy_seconds(const Plan& plan, const Machine& machine) {
  if (machine.kind == "cpu") return 0;
  const Machine::HostLink& link = machine.host_link;
  double bytes = 0;
  for (const ValueId id : plan.graph.with_role(Role::input))
    bytes += double(plan.graph.value(id).type.bytes());
  return time_at(bytes, link.upload > 0 ? link.upload : link.bytes_per_s);
}

}  // namespace

std::string int8_fallback(const Plan& plan, const Machine& machine) {
  const bool products = std::ranges::any_of(plan.steps, [](const Step& step) {
    return step.cost.multiply_add > 0 && product_type(step.problem) == DType::i8;
  });
  if (!products || machine.peak_flops.contains("int8")) return {};
  return fmt::format("No int8 rate of {} is known: its int8 products are taken to run at the rate of fp32.{}",
                     machine.name, machine.measured ? " `headroom roofline` measures it." : "");
}

void wait_for_copies(Prediction& p) {
  for (double* seconds : {&p.predicted_s, &p.low_s, &p.high_s})
    if (*seconds > 0) *seconds = std::max(*seconds, p.copies_s);
}

double doubt_of_run(std::span<const double> seconds, std::span<const double> doubts) {
  // A quarter of the variance: with less, intervals of networks held less often than those of probes.
  constexpr double kShared = 0.25;
  double whole = 0, sum = 0, squares = 0;
  for (std::size_t s = 0; s < seconds.size(); ++s) {
    const double error = seconds[s] * doubts[s];
    whole += seconds[s], sum += error, squares += error * error;
  }
  return whole > 0 ? std::sqrt(kShared * sum * sum + (1 - kShared) * squares) / whole : 0;
}

double end_of_schedule(std::span<const ScheduledStep> steps) {
  std::vector<double> ends(steps.size());
  std::array<double, kMaxStreams> of_stream = {};
  double end = 0, busy = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    double& stream = of_stream.at(static_cast<std::size_t>(steps[s].stream));
    double begin = stream;
    for (const int before : steps[s].waits) begin = std::max(begin, ends[static_cast<std::size_t>(before)]);
    ends[s] = stream = begin + steps[s].seconds + steps[s].gap;
    end = std::max(end, ends[s]), busy += steps[s].busy;
  }
  return std::max(end, busy);
}

namespace {

// One step, whatever runs before it and beside it.
struct OneStep {
  StepPrediction step;
  ScheduledStep scheduled;
  double seconds = 0, doubt = 0;
};

// Without a model: its floor alone.
OneStep time_one(const Step& step, const Machine& machine, const Target& target, const TimeModel* model) {
  OneStep one{.step = floor_of(step, machine, target), .scheduled = {}};
  if (model == nullptr) return one;
  StepPrediction& p = one.step;
  const StepTime time = model->time(step, machine, target);
  const double exchange = exchange_seconds(step, machine, target);
  p.predicted_s = std::max(p.floor_s, time.seconds) + exchange;
  p.low_s = std::max(p.floor_s, time.low) + exchange;
  p.high_s = std::max(p.predicted_s, time.high + exchange);
  p.limit = exchange > time.seconds ? "exchange" : time.bound;
  one.seconds = time.seconds, one.doubt = time.doubt;
  one.scheduled.seconds = p.predicted_s, one.scheduled.gap = time.gap;
  one.scheduled.busy = std::min(p.predicted_s, std::max(p.floor_s, time.busy) + exchange);
  return one;
}

}  // namespace

Prediction predict(const Plan& plan, const Machine& machine) {
  return predict(plan, machine, default_time_model(machine));
}

Prediction predict(const Plan& plan, const Machine& machine, const TimeModel& model) {
  Prediction prediction{.machine = machine.name, .model = std::string(model.name()), .steps = {}};
  const Target& target = plan.binding.target;
  prediction.has_times = (machine.kind == "cpu") == (target.device.kind == DeviceKind::cpu);
  prediction.basis = model.basis();
  std::vector<ScheduledStep> schedule;
  std::vector<double> seconds, doubts;
  std::vector<std::optional<OneStep>> known(plan.steps.size());  // by Step::like
  const auto timed = [&](const Step& step) -> OneStep {
    const TimeModel* const by = prediction.has_times ? &model : nullptr;
    if (step.like == kNone) return time_one(step, machine, target, by);
    std::optional<OneStep>& twin = known.at(static_cast<std::size_t>(step.like));
    if (!twin) twin = time_one(step, machine, target, by);
    return *twin;
  };
  for (const Step& step : plan.steps) {
    OneStep one = timed(step);
    if (prediction.has_times) seconds.push_back(one.seconds), doubts.push_back(one.doubt);
    one.scheduled.stream = step.stream, one.scheduled.waits = step.waits;
    schedule.push_back(std::move(one.scheduled));
    prediction.floor_s += one.step.floor_s;
    prediction.steps.push_back(std::move(one.step));
  }
  if (prediction.has_times) {
    prediction.predicted_s = model.run_start_s() + end_of_schedule(schedule);
    prediction.wait_s = model.wait_s(machine);
  }
  prediction.copies_s = copy_seconds(plan, machine);
  const TimeModel::Factors factors = model.run_factors(prediction.predicted_s, doubt_of_run(seconds, doubts));
  prediction.low_s = std::max(prediction.floor_s, factors.low * prediction.predicted_s);
  prediction.high_s = factors.high * prediction.predicted_s;
  return prediction;
}

}  // namespace headroom
