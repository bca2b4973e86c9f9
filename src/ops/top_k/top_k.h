#pragma once

#include "ops/operator.h"

namespace headroom {

// top_k(x; axis = -1, k, largest = 1): the k largest (the smallest) elements of an axis, the best first, and
// where they stand along it, as int64. Of equal elements the first comes first; NaN counts as larger than any
// number. Floats, int64 and int32; no gradient.
std::vector<Operator> top_k_operators();

// x is [outer, extent, inner], the results are [outer, k, inner].
struct TopKSizes {
  std::int64_t outer = 1, extent = 1, inner = 1, k = 1;
  bool largest = true;
};
TopKSizes top_k_sizes(const Problem& problem);

Launcher prepare_top_k_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
