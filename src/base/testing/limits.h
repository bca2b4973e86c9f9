#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>

namespace headroom::testing {

// Elements of the largest tensor that a test of kernels may use: HEADROOM_TEST_ELEMENTS, or no limit.
// compute-sanitizer checks every access and is some 50 times slower, so it runs the small cases alone.
inline std::int64_t max_test_elements() {
  const char* text = std::getenv("HEADROOM_TEST_ELEMENTS");
  return text == nullptr ? std::numeric_limits<std::int64_t>::max() : std::atoll(text);
}

}  // namespace headroom::testing
