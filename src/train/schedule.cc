#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"

namespace headroom {
namespace {

using Kind = Schedule::Kind;

const std::vector<std::string> kNames = {"constant", "step", "cosine", "exponential", "polynomial"};

Kind kind_of(const std::string& name) {
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) reject(nearest(name, kNames), "unknown schedule '{}'", name);
  return static_cast<Kind>(it - kNames.begin());
}

double number(const std::string& text, const std::string& name, double low, double high) {
  const double value = parse_double(text, fmt::format("the schedule's {}", name));
  if (!(value >= low && value <= high))
    reject("the schedule's {} is {}; it must lie between {} and {}", name, value, low, high);
  return value;
}

void set(ScheduleSpec& spec, const std::string& schedule, const std::string& name, const std::string& value) {
  constexpr double kMaxEpochs = 1e6;
  const bool falls = spec.kind == Kind::cosine || spec.kind == Kind::polynomial;
  const bool factor = spec.kind == Kind::step || spec.kind == Kind::exponential;
  std::vector<std::string> known;
  if (factor) known = {"every", "gamma"};
  if (falls) known = {"min"};
  if (spec.kind == Kind::polynomial) known.push_back("power");
  if (std::find(known.begin(), known.end(), name) == known.end())
    reject(nearest(name, known), "schedule '{}' has no option '{}'", schedule, name);
  if (name == "every") spec.every = number(value, name, 1e-6, kMaxEpochs);
  if (name == "gamma") spec.gamma = number(value, name, 0, 1);
  if (name == "power") spec.power = number(value, name, 1e-3, 100);
  if (name == "min") spec.least = number(value, name, 0, 1e6);
}

std::int64_t steps_of(double epochs, std::int64_t steps_per_epoch) {
  return std::max<std::int64_t>(1, std::llround(epochs * double(steps_per_epoch)));
}

}  // namespace

std::string to_text(const ScheduleSpec& s, double warmup_epochs, std::int64_t epochs) {
  std::string text = kNames.at(static_cast<std::size_t>(s.kind));
  if (s.kind == Kind::step || s.kind == Kind::exponential)
    text += fmt::format(":every={},gamma={}", s.every, s.gamma);
  if (s.kind == Kind::cosine) text += fmt::format(":min={} over {}", s.least, counted(epochs, "epoch"));
  if (s.kind == Kind::polynomial)
    text += fmt::format(":power={},min={} over {}", s.power, s.least, counted(epochs, "epoch"));
  return warmup_epochs > 0 ? text + fmt::format(", warm-up {}", warmup_epochs) : text;
}

double Schedule::at(std::int64_t step) const {
  if (step < warmup) return base * double(step + 1) / double(warmup);
  const double t = double(step - warmup), part = std::min(1.0, t / double(period));
  switch (kind) {
    case Kind::constant:
      return base;
    case Kind::step:
      return base * std::pow(gamma, std::floor(t / double(period)));
    case Kind::exponential:
      return base * std::pow(gamma, t / double(period));
    case Kind::cosine:
      return least + (base - least) * 0.5 * (1 + std::cos(std::numbers::pi * part));
    case Kind::polynomial:
      return least + (base - least) * std::pow(1 - part, power);
  }
  return base;
}

ScheduleSpec parse_schedule(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  ScheduleSpec spec{.kind = kind_of(name)};
  if (spec.kind == Kind::exponential) spec.gamma = 0.95;
  if (colon == std::string_view::npos) return spec;
  for (const auto& [option, value] :
       parse_settings(text.substr(colon + 1), "schedule option", "step:every=10,gamma=0.1"))
    set(spec, name, option, value);
  return spec;
}

Schedule make_schedule(const ScheduleSpec& spec, double base, double warmup_epochs, std::int64_t epochs,
                       std::int64_t steps_per_epoch) {
  const std::int64_t total = epochs * steps_per_epoch;
  Schedule schedule{
      .kind = spec.kind, .base = base, .gamma = spec.gamma, .power = spec.power, .least = spec.least};
  schedule.warmup = std::llround(warmup_epochs * double(steps_per_epoch));
  if (schedule.warmup > total)
    reject(Hint{"take a shorter `warmup`, or more `epochs`"},
           "a warm-up of {} epochs is longer than the {} epochs of the run", warmup_epochs, epochs);
  if (spec.least > base)
    reject(Hint{"take a smaller min, or a larger `lr`"},
           "the schedule's min, {}, is above the learning rate, {}", spec.least, base);
  const bool falls = spec.kind == Kind::cosine || spec.kind == Kind::polynomial;
  schedule.period =
      falls ? std::max<std::int64_t>(1, total - schedule.warmup) : steps_of(spec.every, steps_per_epoch);
  return schedule;
}

}  // namespace headroom
