#pragma once

#include "ops/operator.h"

namespace headroom {

// arg_max(x; axis = 0, keepdims = 1, select_last_index = 0), arg_min: where along an axis the largest (the
// smallest) element stands, as int64. Of equal ones the first counts, or the last where so asked; NaN counts
// as larger (smaller) than any number. Any element type but 16-bit floats on the CPU; no gradient.
std::vector<Operator> arg_max_operators();

// x is [outer, extent, inner], the result [outer, inner].
struct ArgSizes {
  std::int64_t outer = 1, extent = 1, inner = 1;
  bool least = false, last = false;
};
ArgSizes arg_sizes(const Problem& problem);

Launcher prepare_arg_max_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
