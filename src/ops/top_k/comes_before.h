#pragma once

// The order of the results, shared by the kernels of the CPU and of a GPU.

#include <cstdint>

#include "base/host_device.h"

namespace headroom {

// Does element a at place i come before element b at place j?
template <class T>
HEADROOM_HOST_DEVICE inline bool comes_before(T a, std::int64_t i, T b, std::int64_t j, bool largest) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return a_nan && b_nan ? i < j : a_nan == largest;
  if (a == b) return i < j;
  return (a > b) == largest;
}

}  // namespace headroom
