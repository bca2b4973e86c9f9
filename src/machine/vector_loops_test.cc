#include "machine/vector_loops.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "machine/testing/clock_tick.h"
#include "machine/timing.h"

namespace headroom {
namespace {

TEST(TimingVectorLoops, NoMultiplyAddIsOptimisedAway) {
  const std::optional<double> tick = testing::tick_seconds();
  if (!tick) GTEST_SKIP() << "ticks cannot be told in this build";
  for (const VectorLoops& loop : vector_loops())
    for (const auto chains : {loop.fma_f32, loop.fma_f64}) {
      const double round = undisturbed_seconds(0.02, Clock::cpu,
                                               [&](std::int64_t passes) {
                                                 const double begin = thread_cpu_s();
                                                 chains(passes * 1000);
                                                 return thread_cpu_s() - begin;
                                               }) /
                           1000;
      const double per_tick = loop.chains * *tick / round;
      // A unit of half the width takes two ticks, and twice that where a neighbour keeps the same core busy:
      // additions have units enough for both, multiply-adds do not.
      EXPECT_GT(per_tick, 0.2) << loop.name;
      EXPECT_LT(per_tick, 4.4) << loop.name;  // no core has more than four such units
    }
}

TEST(VectorLoops, StreamsComputeWhatTheySay) {
  constexpr std::int64_t kCount = 4 * kStreamBlock / 8;
  auto* memory = static_cast<double*>(std::aligned_alloc(kStreamBlock, 3 * kCount * sizeof(double)));
  double *a = memory, *b = memory + kCount, *c = b + kCount;
  auto bytes = [](double* p) { return reinterpret_cast<char*>(p); };
  for (const VectorLoops& loop : vector_loops()) {
    for (int i = 0; i < kCount; ++i) a[i] = -1, b[i] = i, c[i] = 2 * i;
    loop.triad(bytes(a), bytes(b), bytes(c), kCount * 8);
    loop.update(bytes(b), kCount * 8);
    loop.write(bytes(c), kCount * 8);
    loop.read(bytes(c), kCount * 8);
    for (int i = 0; i < kCount; ++i) {
      EXPECT_EQ(a[i], 2 * i) << loop.name;
      EXPECT_EQ(b[i], i) << loop.name;
      EXPECT_EQ(c[i], 1) << loop.name;
    }
  }
  std::free(memory);
}

}  // namespace
}  // namespace headroom
