#pragma once

#include "machine/machine.h"
#include "plan/plan.h"
#include "predict/time_model.h"

namespace headroom {

// The kernels among which a prediction may choose: the first few of an operator's list that accept a problem.
// Later ones are there for learners, or for what the others refuse.
std::vector<const Kernel*> rival_kernels(const Problem& problem, const Target& target);

struct RivalTime {
  const Kernel* kernel = nullptr;
  double seconds = 0;   // 0: the model does not know it
  double at_worst = 0;  // the end of its interval
};
std::vector<RivalTime> rival_times(const Problem& problem, const Target& target, const Machine& machine,
                                   const TimeModel& model);

// The rival with the least predicted time at worst: a guess does not win over a kernel that is known well. A
// kernel that the model does not know is not chosen; one that the user named is. `model` must outlive the
// chooser.
Chooser predicted_best(Machine machine, const TimeModel& model, Chooser otherwise = first_that_accepts);

// Any of the rivals, the same for the same seed and problem: how a calibration gets to know those that are
// not first.
Chooser any_rival(std::uint64_t seed);

}  // namespace headroom
