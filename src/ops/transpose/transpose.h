#pragma once

#include "ops/cpu/strided_copy.h"
#include "ops/operator.h"

namespace headroom {

// transpose(x; perm): axis i of the output is axis perm[i] of the input; without perm the axes are reversed.
// Takes every element type.
std::vector<Operator> transpose_operators();

StridedCopy transpose_copy(const Problem& problem);
Launcher prepare_transpose_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
