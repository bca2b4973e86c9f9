#pragma once

#include "headroom/net.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "train/update.h"

namespace headroom {

struct PlanRequest {
  Mode mode = Mode::train;
  std::int64_t batch = 1;
  DType dtype = DType::f32;
  bool tf32 = false;
  int threads = 0;  // of a CPU
  Update update;
};

// The plan that a machine of the table would run, made without it: to be read, not to be run. Operators
// without a kernel for it get none, and count with the least work. Of a network from a file that is only to
// be evaluated, the forward pass: it need be neither a classifier nor known to the last node.
Plan plan_on(const Machine& machine, const Net& net, const PlanRequest& request,
             const Chooser& choose = first_that_accepts);

}  // namespace headroom
