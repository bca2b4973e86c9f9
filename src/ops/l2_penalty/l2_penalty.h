#pragma once

#include "ops/operator.h"

namespace headroom {

// l2_penalty(parameters…; lambda) -> [1]: lambda / 2 times the sum of squares, for the report of the loss. No
// gradient: the update adds lambda * p itself (see sgd).
// l2_penalty(base[1], parameters…; lambda, has_base = 1) -> base + the penalty, which is rounded before it is
// added, as it would be on its way to an add.
std::vector<Operator> l2_penalty_operators();

std::size_t penalty_base(const Attrs& attrs);  // inputs before the parameters: 0 or 1

Launcher prepare_l2_penalty_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
