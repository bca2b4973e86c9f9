#include "timing/step_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "predict/predict.h"

namespace headroom {

std::string any_precision(const std::string& kind) {
  return kind.substr(0, kind.find(' ', kind.find(' ') + 1)) + " *";
}

bool is_step_kind(const std::string& name) {
  return name.find(' ') != std::string::npos && !name.ends_with('*');
}

const StepCalibration::Kind& StepCalibration::kind_of(const StepAmounts& amounts) const {
  for (const std::string& name : {amounts.kind, any_precision(amounts.kind), amounts.family})
    if (const auto it = kinds.find(name); it != kinds.end()) return it->second;
  return kinds.at("");
}

const StepCalibration::Kind& StepCalibration::neighbours_of(const StepAmounts& amounts) const {
  const auto it = kinds.find(any_precision(amounts.kind));
  return it != kinds.end() ? it->second : kind_of(amounts);
}

double StepCalibration::busy_share(const StepAmounts& amounts) const {
  const StepTimeParts parts = parts_of(amounts, kind_of(amounts).constants);
  return parts.seconds() > 0 ? parts.busy() / parts.seconds() : 0;
}

// A kind that no probe had is known by its family or by all steps.
double StepCalibration::doubt_of(const StepAmounts& amounts) const {
  const double spread = kind_of(amounts).spread * (kinds.contains(amounts.kind) ? 1 : 2);
  return spread * (1 + growth * novelty_of(amounts));
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
  const double doubt = wider_ * calibration_.doubt_of(amounts);
  return {.seconds = seconds,
          .low = seconds * std::pow(interval.low, doubt),
          .high = seconds * std::pow(interval.high, doubt),
          .busy = seconds * calibration_.busy_share(amounts),
          .gap = amounts.launches * calibration_.run.gap_s,
          .doubt = doubt,
          .bound = bound_of(parts, amounts)};
}

TimeModel::Factors CalibratedModel::run_factors(double seconds, double doubt) const {
  const Intervals::Bucket& interval = calibration_.run_intervals.at(seconds);
  return {std::min(1.0, std::pow(interval.low, doubt)), std::max(1.0, std::pow(interval.high, doubt))};
}

double CalibratedModel::wait_s(const Machine& machine) const {
  return calibration_.run.wait_s > 0 ? calibration_.run.wait_s : TimeModel::wait_s(machine);
}

namespace {

struct KnownModel {
  std::unique_ptr<CalibratedModel> model;  // null: none
  std::string doubt;
};

// Read once for each machine of this process; the reference stays valid.
KnownModel& known_model(const Machine& machine) {
  static std::mutex mutex;
  static std::map<std::string, KnownModel> models;
  const std::scoped_lock lock(mutex);
  const auto [it, is_new] = models.try_emplace(fmt::format("{} {}", machine.name, machine.cores));
  if (is_new && machine.measured) {
    std::optional<StepCalibration> found = find_calibration(machine, it->second.doubt);
    if (found) it->second.model = std::make_unique<CalibratedModel>(std::move(*found));
  }
  return it->second;
}

}  // namespace

const TimeModel& time_model_for(const Machine& machine) {
  if (!machine.measured) return default_time_model(machine);
  const KnownModel& known = known_model(machine);
  return known.model ? static_cast<const TimeModel&>(*known.model) : default_time_model(machine);
}

std::string calibration_doubt(const Machine& machine) {
  return machine.measured ? std::exchange(known_model(machine).doubt, {}) : std::string();
}

void use_libraries(const Machine& machine, const std::string& libraries) {
  if (!machine.measured) return;
  KnownModel& known = known_model(machine);
  if (!known.model || known.model->libraries() == libraries) return;
  known.model->widen(2);
  known.doubt = fmt::format("{} was calibrated with {}, and now has {}: intervals are twice as wide",
                            machine.name, known.model->libraries(), libraries);
}

}  // namespace headroom
