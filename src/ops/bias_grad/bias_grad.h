#pragma once

#include "ops/operator.h"

namespace headroom {

// bias_grad(dy[N, C, …]) -> [C]: the sum over all axes but the second.
std::vector<Operator> bias_grad_operators();

Launcher prepare_bias_grad_cuda(const Problem& problem, const Capabilities& capabilities);

}  // namespace headroom
