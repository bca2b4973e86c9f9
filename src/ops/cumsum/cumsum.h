#pragma once

#include "ops/operator.h"

namespace headroom {

// cumsum(x; axis = 0, exclusive = 0, reverse = 0): running sums along an axis; exclusive ones leave out the
// element itself, reverse ones run from the end. Floats, int64 and int32; sums of fp32 are kept in fp64 on
// the CPU.
std::vector<Operator> cumsum_operators();

// x is [outer, extent, inner].
struct CumsumSizes {
  std::int64_t outer = 1, extent = 1, inner = 1;
  bool exclusive = false, reverse = false;
};
CumsumSizes cumsum_sizes(const Problem& problem);

Launcher prepare_cumsum_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
