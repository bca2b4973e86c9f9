#pragma once

#include "ops/operator.h"

namespace headroom {

// non_zero(x): the coordinates of all elements that are not 0, in the order of memory: [rank, elements of x]
// and int64, one column for each of them, and how many there are (int64, no axes). The columns behind them
// are 0. NaN is not 0. Any element type; a tensor without axes counts as one of length 1.
std::vector<Operator> non_zero_operators();

Launcher prepare_non_zero_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
