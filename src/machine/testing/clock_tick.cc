#include "machine/testing/clock_tick.h"

#include <cstdint>

#include "machine/timing.h"

namespace headroom::testing {

// A chain of additions takes one tick each on every current processor.
std::optional<double> tick_seconds() {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::nullopt;
#endif
  constexpr int kAdditions = 10, kRounds = 100;
  const auto chain = [](std::int64_t passes) {
    const double begin = thread_cpu_s();
    std::int64_t x = 0;
    for (std::int64_t p = 0; p < passes * kRounds; ++p) {
#pragma GCC unroll 10
      for (int i = 0; i < kAdditions; ++i) {
        x += 1;
        asm volatile("" : "+r"(x));
      }
    }
    return thread_cpu_s() - begin;
  };
  return undisturbed_seconds(0.02, Clock::cpu, chain) / (kAdditions * kRounds);
}

}  // namespace headroom::testing
