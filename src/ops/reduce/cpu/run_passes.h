#pragma once

// The passes of a reduction on the CPU.

#include <limits>

#include "ops/cpu/simd.h"
#include "ops/reduce/passes.h"

namespace headroom {

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
