#pragma once

#include "ops/operator.h"

namespace headroom {

// l2_penalty(parameters…; lambda) -> [1]: lambda / 2 times the sum of squares, for the report of the loss. No
// gradient: the update adds lambda * p itself (see sgd).
std::vector<Operator> l2_penalty_operators();

Launcher prepare_l2_penalty_cuda(const Problem& problem, const Capabilities& capabilities);

}  // namespace headroom
