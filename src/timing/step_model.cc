#include "timing/step_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "predict/predict.h"

namespace headroom {

const StepCalibration::Kind& StepCalibration::kind_of(const StepAmounts& amounts) const {
  for (const std::string& name : {amounts.kind, amounts.family})
    if (const auto it = kinds.find(name); it != kinds.end()) return it->second;
  return kinds.at("");
}

double StepCalibration::busy_share(const StepAmounts& amounts) const {
  const StepTimeParts parts = parts_of(amounts, kind_of(amounts).constants);
  return parts.seconds() > 0 ? parts.busy() / parts.seconds() : 0;
}

double run_seconds(std::span<const StepRow> rows, std::span<const double> seconds,
                   std::span<const double> busy, const RunConstants& c) {
  std::vector<ScheduledStep> steps;
  for (std::size_t r = 0; r < rows.size(); ++r)
    steps.push_back({.seconds = c.whole * seconds[r],
                     .gap = rows[r].amounts.launches * c.gap_s,
                     .busy = c.whole * seconds[r] * busy[r],
                     .stream = rows[r].stream,
                     .waits = rows[r].waits});
  return c.start_s + end_of_schedule(steps);
}

StepTime CalibratedModel::time(const Step& step, const Machine& machine, const Target& target) const {
  const StepAmounts amounts = amounts_of(step, machine, target);
  const StepTimeParts parts = parts_of(amounts, calibration_.kind_of(amounts).constants);
  const double seconds = calibration_.seconds_of(amounts) * calibration_.run.whole;
  const Intervals::Bucket& interval = calibration_.intervals.at(seconds);
  // A kind that no probe had is known by its family or by all steps: its interval is twice as wide.
  const double wider = calibration_.kinds.contains(amounts.kind) ? 1 : 2;
  return {.seconds = seconds,
          .low = seconds * std::pow(interval.low, wider),
          .high = seconds * std::pow(interval.high, wider),
          .busy = seconds * calibration_.busy_share(amounts),
          .gap = amounts.launches * calibration_.run.gap_s,
          .bound = bound_of(parts, amounts)};
}

const TimeModel& time_model_for(const Machine& machine) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<CalibratedModel>> models;  // by machine; null: none
  if (!machine.measured) return default_time_model(machine);
  const std::scoped_lock lock(mutex);
  auto it = models.find(machine.name);
  if (it == models.end()) {
    std::string why;
    std::optional<StepCalibration> found = find_calibration(machine, why);
    it = models.emplace(machine.name, found ? std::make_unique<CalibratedModel>(std::move(*found)) : nullptr)
             .first;
  }
  return it->second ? static_cast<const TimeModel&>(*it->second) : default_time_model(machine);
}

}  // namespace headroom
