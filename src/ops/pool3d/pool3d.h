#pragma once

#include "ops/operator.h"
#include "ops/pool3d/shape.h"

namespace headroom {

// max_pool3d(x), max_pool3d_grad(dy, x), avg_pool3d(x), avg_pool3d_grad(dy; input_shape), all NCDHW. Padding,
// NaN, equal elements and count_include_pad as in pool.h.
std::vector<Operator> pool3d_operators();

Pool3d parse_pool3d(const Problem& problem);  // any of the four operators

}  // namespace headroom
