#pragma once

// The conversions between the types that C++ has; 16-bit floats are widened before and rounded after
// (cuda/map.cu).

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/host_device.h"

namespace headroom {

template <class From, class To>
HEADROOM_HOST_DEVICE inline To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::uint8_t>) {
    const From cut = x > 0 ? x < 255 ? x : From{255} : From{0};  // NaN is not more than 0
    return static_cast<To>(static_cast<std::int32_t>(cut));      // by int32, which vectors convert to
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Its upper limit is one less than a power of two: the float just below that power is the last that fits.
    constexpr From kEnd = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    const bool low = x < kLow, high = x >= kEnd;
    const To inside = static_cast<To>(low || high || x != x ? From{0} : x);
    return low ? std::numeric_limits<To>::min() : high ? std::numeric_limits<To>::max() : inside;
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace headroom
