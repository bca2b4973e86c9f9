#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

// The learning rate as a function of the step alone, so that a resumed run continues with the same rates.
// Steps count from 0; after `warmup` steps of linear growth the rule below starts at its own step 0.
struct Schedule {
  enum class Kind { constant, step, cosine, exponential, polynomial };
  Kind kind = Kind::constant;
  double base = 0.05;
  double gamma = 0.1;  // step, exponential: factor per period
  double power = 1;    // polynomial
  double least = 0;    // cosine, polynomial: the final rate
  std::int64_t period =
      1;  // in steps: of a factor (step, exponential), or of the whole decay (cosine, polynomial)
  std::int64_t warmup = 0;

  double at(std::int64_t step) const;
};

// The user's form: "constant", "step:every=10,gamma=0.1", "cosine:min=0.001", "exponential:gamma=0.95",
// "polynomial:power=2,min=0". Periods are in epochs; cosine and polynomial decay over all epochs.
struct ScheduleSpec {
  Schedule::Kind kind = Schedule::Kind::constant;
  double every = 1;  // epochs
  double gamma = 0.1, power = 1, least = 0;
};
ScheduleSpec parse_schedule(std::string_view text);
// The same form, with what else the rates depend on. The number of epochs counts only if the rate falls over
// all of them.
std::string to_text(const ScheduleSpec& spec, double warmup_epochs, std::int64_t epochs);

// The spec with epochs converted to steps. Warm-up is part of the total, not added to it.
Schedule make_schedule(const ScheduleSpec& spec, double base, double warmup_epochs, std::int64_t epochs,
                       std::int64_t steps_per_epoch);

}  // namespace headroom
