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
  const auto timings =
      bench_operators(*device, slow_machine(), first_that_accepts, {"leaky_relu", "sgd"}, 2, [](const auto&) {
      }).timings;
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

// A relayout has no work on inputs in the order it makes: the case says in which order they are.
TEST(BenchOperators, KeepsTheLayoutsOfACase) {
  const auto device = open_device("cpu", 2);
  const OperatorBench bench =
      bench_operators(*device, slow_machine(), first_that_accepts, {"relayout"}, 1, [](const auto&) {});
  EXPECT_GT(bench.timings.size(), 1u);
  EXPECT_TRUE(bench.left_out.empty()) << bench.left_out.front();
}

TEST(BenchOperators, ACaseThatDoesNotRunIsNamed) {
  const auto device = open_device("cpu", 2);
  const Chooser not_relu = [](const Problem& problem, const Target& target) {
    if (problem.op == "relu") reject("no kernel today");
    return first_that_accepts(problem, target);
  };
  const OperatorBench bench =
      bench_operators(*device, slow_machine(), not_relu, {"relu", "neg"}, 1, [](const auto&) {});
  EXPECT_FALSE(bench.timings.empty());
  ASSERT_FALSE(bench.left_out.empty());
  EXPECT_NE(bench.left_out[0].find("no kernel today"), std::string::npos) << bench.left_out[0];
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
