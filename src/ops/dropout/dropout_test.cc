#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "base/random.h"
#include "graph/autodiff.h"
#include "ops/dropout/cpu/philox_blocks.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace dropout_test {

Attrs attrs_of(double rate, std::int64_t key = 1, std::int64_t first = 0) {
  return {{"rate", rate}, {"seed", std::int64_t{7}}, {"key", key}, {"first", first}};
}

Problem make(std::int64_t n, const Attrs& attrs) {
  const Case c{.tier = Tier::ci, .inputs = {{n}, {1}}, .attrs = attrs, .dtypes = {std::nullopt, DType::f64}};
  return problem_of(operator_of("dropout"), c, DType::f32);
}

Values drop(std::int64_t n, const Attrs& attrs, double step = 1) {
  const Values ones(static_cast<std::size_t>(n), 1);
  return run_kernel(cpu_kernel(operator_of("dropout")), make(n, attrs), {ones, {step}}).outputs[0];
}

TEST(Dropout, BlocksHoldThePublishedGeneratorsNumbers) {
  std::uint32_t numbers[kPhiloxNumbers];
  for (std::uint64_t group : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 33}) {
    philox_numbers(123456789012345, 987654321098765, group, numbers);
    const Philox random(123456789012345, 987654321098765);
    for (std::uint64_t i = 0; i < kPhiloxNumbers; ++i)
      ASSERT_EQ(numbers[i], random.bits(group * kPhiloxNumbers + i));
  }
}

TEST(Dropout, KeepsTheShareAndTheMean) {
  const std::int64_t n = 100000;
  for (double rate : {0.1, 0.5, 0.9}) {
    double dropped = 0, sum = 0;
    for (double y : drop(n, attrs_of(rate))) {
      dropped += y == 0;
      sum += y;
    }
    const double deviation = std::sqrt(rate * (1 - rate) / static_cast<double>(n));
    EXPECT_NEAR(dropped / static_cast<double>(n), rate, 5 * deviation);
    EXPECT_NEAR(sum / static_cast<double>(n), 1, 5 * deviation / (1 - rate));
  }
  EXPECT_EQ(drop(1000, attrs_of(0)), Values(1000, 1));
}

TEST(Dropout, StepAndKeyMakeOtherMasks) {
  const Values base = drop(200, attrs_of(0.5));
  EXPECT_EQ(drop(200, attrs_of(0.5)), base);
  EXPECT_NE(drop(200, attrs_of(0.5), 2), base);
  EXPECT_NE(drop(200, attrs_of(0.5, 2)), base);
}

TEST(Dropout, PartsOfABatchSeeTheMaskOfTheWhole) {
  const Values whole = drop(1000, attrs_of(0.5)), part = drop(600, attrs_of(0.5, 1, 400));
  EXPECT_EQ(Values(whole.begin() + 400, whole.end()), part);
}

TEST(Dropout, HasTheSameMaskForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Values alone = drop(50001, attrs_of(0.3));
  for (int threads : {2, 5}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(drop(50001, attrs_of(0.3)), alone);
  }
  omp_set_num_threads(before);
}

TEST(Dropout, GradientIsTheSameOperator) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{5}, DType::f32}, .role = Role::input});
  const ValueId step = graph.add_value({.name = "step", .type = {{1}, DType::f64}, .role = Role::scalar});
  const ValueId y = graph.add_node("dropout", {x, step}, attrs_of(0.5), "drop").at(0);
  differentiate(graph, y, {x});
  ASSERT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(graph.nodes()[1].op, "dropout");
  EXPECT_EQ(graph.nodes()[1].attrs, graph.nodes()[0].attrs);
  EXPECT_EQ(graph.nodes()[1].inputs[1], step);
}

TEST(Dropout, RejectsBadRequests) {
  EXPECT_THROW(make(3, attrs_of(1)), Error);
  EXPECT_THROW(make(3, attrs_of(-0.1)), Error);
  EXPECT_THROW(make(3, attrs_of(0.5, 1, -1)), Error);
  EXPECT_THROW(operator_of("dropout").schema.infer({{{3}, DType::f32}, {{1}, DType::f32}}, attrs_of(0.5)),
               Error);
}

}  // namespace dropout_test
}  // namespace headroom::testing
