#pragma once

#include "ops/operator.h"

namespace headroom {

// matmul(a, b; trans_a, trans_b): the product of two matrices, either of them read transposed.
std::vector<Operator> matmul_operators();

}  // namespace headroom
