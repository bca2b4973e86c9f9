#include "bench/operators.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"
#include "ops/operator.h"

namespace headroom {
namespace {

Machine slow_machine() {
  Machine m;
  m.name = "slow", m.kind = "cpu";
  m.peak_flops = {{"fp32", 1e9}, {"fp64", 1e9}};
  m.levels = {{"memory", 1e12, 1e9, 1e9}};
  return m;
}

TEST(BenchOperators, TimesTheLargeCasesOfThoseNamed) {
  const auto device = open_device("cpu", 2);
  const auto timings = bench_operators(*device, slow_machine(), first_that_accepts, {"leaky_relu", "sgd"}, 2,
                                       [](const auto&) {});
  std::size_t wanted = 0;
  for (const char* name : {"leaky_relu", "sgd"})
    for (const Case& c : operator_of(name).cases) wanted += c.tier == Tier::perf;
  EXPECT_EQ(timings.size(), wanted);
  for (const OperatorTiming& t : timings) {
    EXPECT_EQ(t.seconds.samples, 2u);
    EXPECT_GT(t.bytes_per_s(), 0);
    EXPECT_EQ(t.level, "memory");
    EXPECT_DOUBLE_EQ(t.share_of_bandwidth(), t.bytes_per_s() / 1e9);
    EXPECT_GE(t.floor_s, t.bytes / 1e9 * 0.999);
  }
}

TEST(BenchOperators, RejectsNamesItDoesNotKnow) {
  const auto device = open_device("cpu", 1);
  testing::expect_rejected(
      [&] {
        bench_operators(*device, slow_machine(), first_that_accepts, {"leaky_rely"}, 1, [](const auto&) {});
      },
      {"leaky_rely"});
}

}  // namespace
}  // namespace headroom
