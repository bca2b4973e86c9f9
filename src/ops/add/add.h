#pragma once

#include "ops/operator.h"

namespace headroom {

// add(a, b) of equal shapes: residual connections, and the sum of gradients of a value used twice.
std::vector<Operator> add_operators();

}  // namespace headroom
