#pragma once

// Any reduction as passes over [outer, length, inner], each of which removes the middle. The first pass reads
// the whole input, the others what it left. A pass cuts the middle into chunks whose size follows from the
// shape alone, and joins their results in order: the same bits for any number of threads.

#include <limits>

#include "ops/cpu/simd.h"
#include "ops/reduce/reduce.h"

namespace headroom {

struct Pass {
  std::int64_t outer = 1, length = 1, inner = 1;

  std::int64_t chunk() const;  // of the middle
  std::int64_t chunks() const { return (length + chunk() - 1) / chunk(); }
  std::int64_t results() const { return outer * inner; }
};

std::vector<Pass> passes_of(const ReduceProblem& problem);
// Elements of scratch memory that run_passes needs.
std::int64_t scratch_of(const std::vector<Pass>& passes);

struct Sum {
  template <class T>
  static T identity() {
    return 0;
  }
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
};

struct Max {
  template <class T>
  static T identity() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  static V join(V a, V b) {
    if constexpr (std::is_arithmetic_v<V>)
      return a > b || a != a ? a : b;  // a NaN on either side wins
    else
      return simd::max_or_nan(a, b);
  }
};

// y = scale * (x reduced); x and y must not overlap.
template <class F, class T>
void run_passes(const std::vector<Pass>& passes, std::int64_t n, const T* x, T scale, T* y, T* scratch);

}  // namespace headroom
