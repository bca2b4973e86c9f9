#pragma once

#include <cstddef>
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

// Whether this process runs the case of this number: all of them, or with HEADROOM_TEST_PART=3/16 every
// sixteenth, from the third on. Processes can then share the cases of one operator, and each computes only
// its own references. What names no part leaves no case out, lest tests pass that ran nothing.
inline bool is_own_case(std::size_t number) {
  const char* text = std::getenv("HEADROOM_TEST_PART");
  if (text == nullptr) return true;
  char* rest = nullptr;
  const unsigned long part = std::strtoul(text, &rest, 10),
                      parts = *rest == '/' ? std::strtoul(rest + 1, nullptr, 10) : 0;
  return part < 1 || part > parts || number % parts + 1 == part;
}

// compute-sanitizer follows the accesses: HEADROOM_TEST_SANITIZER is set. Which addresses a kernel uses does
// not depend on the kind of numbers, so one kind is enough; and buffers are new ones, so that it knows where
// each ends.
inline bool under_sanitizer() { return std::getenv("HEADROOM_TEST_SANITIZER") != nullptr; }

}  // namespace headroom::testing
