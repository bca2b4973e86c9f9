#pragma once

#include "ops/operator.h"

namespace headroom {

// transpose(x; perm): axis i of the output is axis perm[i] of the input; without perm the axes are reversed.
// Takes every element type.
std::vector<Operator> transpose_operators();

}  // namespace headroom
