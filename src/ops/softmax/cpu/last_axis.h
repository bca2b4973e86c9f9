#pragma once

#include "ops/softmax/softmax.h"

namespace headroom {

// What kernels ask whose lines must be contiguous.
inline Verdict softmax_along_last_axis(const Problem& problem, const Target& target) {
  if (softmax_problem(problem).inner != 1) return refuse("takes the last axis only");
  return accepts_cpu_floats(problem, target);
}

}  // namespace headroom
