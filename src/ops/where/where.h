#pragma once

#include "ops/operator.h"

namespace headroom {

// where(condition, a, b): a where the condition is not 0, else b; all three are stretched to a common shape.
// The condition is bool or uint8 and has no gradient; a and b are of any one type. where_grad(condition, dy;
// side): dy where the condition picks the side ("a" or "b"), else 0.
std::vector<Operator> where_operators();

Launcher prepare_where_cuda(const Problem& problem, const LaunchContext& context);
Launcher prepare_where_grad_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
