#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace softmax_test {

Problem make(std::string_view op, std::vector<Shape> inputs, DType dtype = DType::f64,
             const Attrs& attrs = {}) {
  return problem_of(operator_of(op), {.tier = Tier::ci, .inputs = std::move(inputs), .attrs = attrs}, dtype);
}

std::vector<Values> run_all(const Problem& problem, const std::vector<Values>& inputs) {
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(problem.op)))
    if (kernel.accepts(problem, cpu_capabilities()).ok)
      results.push_back(run_kernel(kernel, problem, inputs).outputs[0]);
  return results;
}

TEST(Softmax, LogarithmsOfCountsGiveFrequencies) {
  for (const Values& y :
       run_all(make("softmax", {{2, 3}}), {{std::log(1), std::log(2), std::log(5), 7, 7, 7}})) {
    const Values want = {0.125, 0.25, 0.625, 1 / 3.0, 1 / 3.0, 1 / 3.0};
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-15);
  }
}

TEST(Softmax, LargeScoresNeitherOverflowNorVanish) {
  for (DType dtype : {DType::f32, DType::f64})
    for (const Values& y : run_all(make("softmax", {{2, 2}}, dtype), {{3e38, 3e38, -3e38, -3e38}}))
      for (double p : y) EXPECT_EQ(p, 0.5);
}

TEST(Softmax, MinusInfinityGetsNothing) {
  const double low = -std::numeric_limits<double>::infinity();
  for (const Values& y : run_all(make("softmax", {{3}}), {{0, low, 0}})) EXPECT_EQ(y, (Values{0.5, 0, 0.5}));
}

TEST(Softmax, NanSpoilsItsRowOnly) {
  for (const Values& y : run_all(make("softmax", {{2, 3}}), {{1, std::nan(""), 2, 4, 4, 4}})) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[i]));
    for (std::size_t i = 3; i < 6; ++i) EXPECT_NEAR(y[i], 1 / 3.0, 1e-15);
  }
}

TEST(Softmax, GradientIgnoresWhatShiftsAllScores) {
  for (const Values& dx :
       run_all(make("softmax_grad", {{1, 4}, {1, 4}}), {{3, 3, 3, 3}, {0.5, 0.25, 0.125, 0.125}}))
    for (double d : dx) EXPECT_EQ(d, 0);
}

TEST(Softmax, AnotherAxisIsTheTransposedProblem) {
  const Attrs first{{"axis", std::int64_t{0}}};
  for (const Values& y :
       run_all(make("softmax", {{3, 2}}, DType::f64, first), {{0, 7, std::log(3), 7, 0, 7}})) {
    const Values want = {0.2, 1 / 3.0, 0.6, 1 / 3.0, 0.2, 1 / 3.0};
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-15);
  }
}

TEST(LogSoftmax, IsFiniteWhereTheProbabilityVanishes) {
  for (const Attrs& attrs : {Attrs{}, Attrs{{"axis", std::int64_t{0}}}})
    for (const Values& y : run_all(make("log_softmax", {{2, 2}}, DType::f32, attrs), {{0, 5000, 5000, 0}}))
      EXPECT_EQ(y, (Values{-5000, 0, 0, -5000}));
}

TEST(LogSoftmax, NanSpoilsItsRowOnly) {
  for (const Values& y : run_all(make("log_softmax", {{2, 2}}), {{1, std::nan(""), 4, 4}})) {
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_NEAR(y[2], -std::log(2), 1e-15);
  }
}

TEST(Softmax, RejectsBadShapes) {
  EXPECT_THROW(make("softmax", {{3, 4}}, DType::f64, {{"axis", std::int64_t{2}}}), Error);
  EXPECT_THROW(make("softmax", {Shape{}}), Error);
  EXPECT_THROW(make("softmax", {{3, 0}}), Error);
  EXPECT_THROW(make("softmax", {{3}}, DType::i32), Error);
  EXPECT_THROW(make("softmax", {{3}, {3}}), Error);
  EXPECT_THROW(make("softmax_grad", {{3, 4}, {4, 3}}), Error);
}

}  // namespace softmax_test
}  // namespace headroom::testing
