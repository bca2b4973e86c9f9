#pragma once

// Any reduction as passes over [outer, length, inner], each of which removes the middle. The first pass reads
// the whole input, the others what it left. A pass cuts the middle into chunks whose size follows from the
// shape alone, and joins their results in order: the same bits for any number of threads.

#include "ops/reduce/reduce.h"

namespace headroom {

struct Pass {
  std::int64_t outer = 1, length = 1, inner = 1;

  std::int64_t chunk() const;  // of the middle
  std::int64_t chunks() const { return (length + chunk() - 1) / chunk(); }
  std::int64_t results() const { return outer * inner; }
};

std::vector<Pass> passes_of(const ReduceProblem& problem);

}  // namespace headroom
