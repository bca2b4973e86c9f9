#include "predict/predict.h"

#include <algorithm>

#include "comm/groups.h"
#include "ops/all_reduce/all_reduce.h"

namespace headroom {
namespace {

double rate(const Machine& m, const char* name) {
  const auto it = m.peak_flops.find(name);
  return it == m.peak_flops.end() ? 0 : it->second;
}

DType float_type(const Problem& p) {
  for (const auto* list : {&p.outputs, &p.inputs})
    for (const TensorType& type : *list)
      if (is_float(type.dtype)) return type.dtype;
  return DType::f32;
}

// What has no known rate sets no bound: the floor stays a floor.
double time_at(double amount, double per_second) { return per_second > 0 ? amount / per_second : 0; }

StepPrediction predict_step(const Step& step, const Machine& machine, bool tf32, bool times) {
  const DType dtype = float_type(step.problem);
  const double products = product_peak(machine, dtype, tf32), vectors = vector_peak(machine, dtype);
  const double compute =
      time_at(step.cost.multiply_add, products) + time_at(step.cost.other + step.cost.special, vectors);
  const Machine::Level& level = machine.level_for(step.cost.bytes());
  const double memory = time_at(step.cost.bytes(), level.bytes_per_s);
  StepPrediction p{std::max(compute, memory), compute >= memory ? "compute" : level.name, 0};
  if (!times) return p;
  const double moved = step.work.bytes + static_cast<double>(step.workspace);
  const double work_memory = time_at(step.work.bytes, machine.level_for(moved).bytes_per_s);
  const double work_compute = time_at(step.work.flops, products * step.work.efficiency);
  p.predicted_s = std::max(work_compute, work_memory) + step.work.launches * machine.launch_s;
  p.predicted_s = std::max(p.predicted_s, p.floor_s);
  return p;
}

// What a step waits for from other ranks, by the link that `bench allreduce` has measured and as if nothing
// of it were hidden; 0 where no link is known.
double exchange_seconds(const Step& step, const Machine& machine, const Capabilities& device) {
  const Exchange exchange = awaited_of(step.problem);
  if (exchange.calls == 0 || device.groups == nullptr) return 0;
  const auto latency = machine.extras.find(std::string(kLinkLatency)),
             bandwidth = machine.extras.find(std::string(kLinkBandwidth));
  const double ranks = device.groups->parts(exchange.group);
  if (ranks < 2 || latency == machine.extras.end() || bandwidth == machine.extras.end()) return 0;
  return double(exchange.calls) * latency->second.value +
         2 * (ranks - 1) / ranks * double(exchange.bytes) / bandwidth->second.value;
}

}  // namespace

double product_peak(const Machine& machine, DType dtype, bool tf32) {
  const double fp32 = std::max({rate(machine, "fp32"), rate(machine, "fp16") / 3, rate(machine, "bf16") / 3});
  switch (dtype) {
    case DType::f64:
      return std::max(rate(machine, "fp64"), rate(machine, "fp64_tensor"));
    case DType::f16:
      return std::max({fp32, rate(machine, "fp16"), rate(machine, "fp16_vector")});
    case DType::bf16:
      return std::max(fp32, rate(machine, "bf16"));
    default:
      return tf32 ? std::max(fp32, rate(machine, "tf32")) : fp32;
  }
}

double vector_peak(const Machine& machine, DType dtype) {
  if (dtype == DType::f64) return rate(machine, "fp64");
  if (dtype == DType::f16) return std::max(rate(machine, "fp32"), rate(machine, "fp16_vector"));
  return rate(machine, "fp32");
}

Prediction predict(const Plan& plan, const Machine& machine) {
  Prediction prediction{.machine = machine.name, .steps = {}};
  const Capabilities& device = plan.binding.capabilities;
  prediction.has_times = (machine.kind == "cpu") == (device.kind == DeviceKind::cpu);
  for (const Step& step : plan.steps) {
    prediction.steps.push_back(predict_step(step, machine, device.tf32, prediction.has_times));
    if (prediction.has_times) prediction.steps.back().predicted_s += exchange_seconds(step, machine, device);
    prediction.floor_s += prediction.steps.back().floor_s;
    prediction.predicted_s += prediction.steps.back().predicted_s;
  }
  return prediction;
}

}  // namespace headroom
