#pragma once

#include "bench/ladder.h"

namespace headroom {

// The right result of conv2d, conv2d_grad_input or conv2d_grad_weight on given inputs, in fp64. A convolution
// without activation is linear in its images (its gradient of the weights: in the maps of dy), so that the
// convolution of a sum of images with random signs is the same sum of outputs. Where the whole result would
// take more than `budget_flops`, such sums check every element of it, and a few lines are compared one by
// one.
std::unique_ptr<LadderCheck> conv2d_check(const Problem& problem, const std::vector<HostTensor>& inputs,
                                          const Policy& policy, double budget_flops = 2e10);

}  // namespace headroom
