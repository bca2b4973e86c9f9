#pragma once

#include "plan/plan.h"

namespace headroom {

// The first; gradients of weights; sums of gradients over rows, which are short and use few multiprocessors.
inline constexpr int kMaxStreams = 3;

// Only the update reads gradients of parameters, while the previous layer needs gradients of activations. A
// second stream takes the former, so small networks, whose kernels do not fill a GPU, compute both at the
// same time. Moves such backward steps to where their inputs are ready, gives them stream 1, or 2 where the
// plan may have three and they only sum, and sets who waits for whom. Updates that need no gradient (the
// tally) go to stream 1 too. The list order alone stays valid, so a run with one stream ignores all this.
// Leaves plans with large tensors unchanged: their kernels fill a GPU, and memory would stay in use longer.
void use_more_streams(Plan& plan, const std::vector<ValueId>& owner);

// For a plan with one stream: true for the steps that use_more_streams would put on another.
std::vector<bool> fits_other_streams(const Plan& plan);

// The order in which steps go to the streams: those of the others come behind the next one of the first.
// Both become ready at once, and a GPU begins with what it was given first; the first stream's is the one
// that others wait for.
std::vector<std::size_t> queue_order(const Plan& plan);

// The first step at which the first stream waits for the others; the number of steps if there is none.
int join_of(const Plan& plan);

}  // namespace headroom
