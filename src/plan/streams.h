#pragma once

#include "plan/plan.h"

namespace headroom {

// Gradients of parameters lead nowhere but to the update, while those of activations lead on to the layer
// before: a second stream takes the former, and small networks, whose kernels fill no GPU, do both at once.
// Moves such steps of the backward phase to where their inputs are ready, gives them stream 1, and says who
// waits for whom; updates that need no gradient (the tally) go there too. In the order of the list alone the
// plan stays valid: whoever has one stream ignores this. Leaves plans alone whose tensors are large: their
// kernels fill a GPU, and memory would have to stay longer.
void use_second_stream(Plan& plan, const std::vector<ValueId>& owner);

// The step from which on the first stream has waited for the second; the number of steps where none does.
int join_of(const Plan& plan);

}  // namespace headroom
