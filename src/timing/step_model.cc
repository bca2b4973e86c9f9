#include "timing/step_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace headroom {

StepAmounts amounts_of(const Step& step, const Machine& machine, const Target& target) {
  StepAmounts a;
  const KernelLaunch main = step.work.launches.empty() ? KernelLaunch{} : step.work.launches.front();
  a.family = main.family;
  a.kind = fmt::format("{} {}", main.family, step.problem.op);
  if (is_16bit(float_type(step.problem)) || target.policy.tf32)
    a.kind += target.policy.tf32 ? " tf32" : " 16bit";
  a.flops = step.work.flops() / std::max(1e-3, main.useful);
  const auto peak = machine.peak_flops.find(std::string(name_of(main.unit)));
  a.peak = peak != machine.peak_flops.end() ? peak->second : vector_peak(machine, float_type(step.problem));
  a.bytes = step.work.bytes();
  const Machine::Level& level = machine.level_for(a.bytes + static_cast<double>(step.workspace));
  a.rate = level.bytes_per_s, a.level = level.name;
  a.m = double(main.extent.m), a.n = double(main.extent.n), a.k = double(main.extent.k);
  a.launches = std::max(1, step.work.launch_count());
  return a;
}

double StepTimeParts::busy() const { return std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25); }

StepTimeParts parts_of(const StepAmounts& a, const StepConstants& c) {
  double share = c.efficiency;
  for (const double extent : {a.m, a.n, a.k})
    if (extent > 0) share *= extent / (extent + c.half_extent);
  return {time_at(a.flops, a.peak * share), time_at(a.bytes, a.rate * c.memory_share),
          a.launches * c.start_s};
}

const StepCalibration::Kind& StepCalibration::kind_of(const StepAmounts& amounts) const {
  for (const std::string& name : {amounts.kind, amounts.family})
    if (const auto it = kinds.find(name); it != kinds.end()) return it->second;
  return kinds.at("");
}

StepTime CalibratedModel::time(const Step& step, const Machine& machine, const Target& target) const {
  const StepAmounts amounts = amounts_of(step, machine, target);
  const StepTimeParts parts = parts_of(amounts, calibration_.kind_of(amounts).constants);
  const double seconds = calibration_.seconds_of(amounts) * calibration_.whole;
  const Intervals::Bucket& interval = calibration_.intervals.at(seconds);
  // A kind that no probe had is known by its family or by all steps: its interval is twice as wide.
  const double wider = calibration_.kinds.contains(amounts.kind) ? 1 : 2;
  return {.seconds = seconds,
          .low = seconds * std::pow(interval.low, wider),
          .high = seconds * std::pow(interval.high, wider),
          .busy = seconds * parts.busy() / parts.seconds(),
          .bound = parts.start > parts.busy()      ? "launch"
                   : parts.compute >= parts.memory ? "compute"
                                                   : amounts.level};
}

TimeModel::Factors CalibratedModel::run_factors() const { return calibration_.run_factors; }

const TimeModel& time_model_for(const Machine& machine) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<CalibratedModel>> models;  // by machine; null: none
  if (!machine.measured) return default_time_model();
  const std::scoped_lock lock(mutex);
  auto it = models.find(machine.name);
  if (it == models.end()) {
    std::string why;
    std::optional<StepCalibration> found = find_calibration(machine, why);
    it = models.emplace(machine.name, found ? std::make_unique<CalibratedModel>(std::move(*found)) : nullptr)
             .first;
  }
  return it->second ? static_cast<const TimeModel&>(*it->second) : default_time_model();
}

}  // namespace headroom
