#pragma once

#include "plan/plan.h"

namespace headroom {

// Only the update reads gradients of parameters, while the previous layer needs gradients of activations. A
// second stream takes the former, so small networks, whose kernels do not fill a GPU, compute both at the
// same time. Moves such backward steps to where their inputs are ready, gives them stream 1 and sets who
// waits for whom. Updates that need no gradient (the tally) go there too. The list order alone stays valid,
// so a run with one stream ignores all this. Leaves plans with large tensors unchanged: their kernels fill a
// GPU, and memory would stay in use longer.
void use_second_stream(Plan& plan, const std::vector<ValueId>& owner);

// For a plan with one stream: true for the steps that use_second_stream would put on the second.
std::vector<bool> fits_second_stream(const Plan& plan);

// The first step at which the first stream waits for the second; the number of steps if there is none.
int join_of(const Plan& plan);

}  // namespace headroom
