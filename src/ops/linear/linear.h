#pragma once

#include "ops/operator.h"

namespace headroom {

// linear(x[N,...,K], w[M,K], bias[M]?; activation) -> f(x w^T + bias)[N,...,M]: a fully connected layer on
// the last axis, activation fused.
std::vector<Operator> linear_operators();

}  // namespace headroom
