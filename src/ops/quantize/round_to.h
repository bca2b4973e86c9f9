#pragma once

// What all kernels of the three operators compute for one element.

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace headroom {

// value + zero, rounded with halves to even and cut to [low, high]. Bounds are integers, so the cut may come
// first, which keeps the rest small; NaN is not more than the lower bound.
template <class F>
HEADROOM_HOST_DEVICE inline std::int32_t round_to(F value, std::int32_t zero, std::int32_t low,
                                                  std::int32_t high) {
  const F least = static_cast<F>(low - zero), most = static_cast<F>(high - zero);
  const F above = value > least ? value : least, cut = above < most ? above : most;
  // Adding 1.5 * 2^(digits) leaves no room for a fraction: the sum is rounded as the processor rounds, halves
  // to even. rint would not become vector instructions here.
  constexpr F kWhole = sizeof(F) == 4 ? F(12582912) : F(6755399441055744);
  return static_cast<std::int32_t>((cut + kWhole) - kWhole) + zero;
}

}  // namespace headroom
