#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace squared_error_test {

Problem make(std::string_view op, const std::vector<Shape>& shapes, const Attrs& attrs = {}) {
  return problem_of(operator_of(op), {.tier = Tier::ci, .inputs = shapes, .attrs = attrs}, DType::f32);
}

Problem labels(std::int64_t rows, const Attrs& attrs) {
  const Fill label{Fill::Kind::label, 1};
  return problem_of(operator_of("one_hot"),
                    {.tier = Tier::ci, .inputs = {{rows}}, .attrs = attrs, .fills = {label}}, DType::f32);
}

TEST(SquaredError, IsTheMeanOverAllElements) {
  const std::vector<Values> inputs = {{1, 2, 3, 4}, {1, 0, 3, 8}};
  for (const Kernel& kernel : kernels_here(operator_of("squared_error"))) {
    EXPECT_EQ(run_kernel(kernel, make("squared_error", {{2, 2}, {2, 2}}), inputs).outputs[0], Values{5})
        << kernel.name;
    const Problem shared = make("squared_error", {{2, 2}, {2, 2}}, {{"global_batch", std::int64_t{4}}});
    EXPECT_EQ(run_kernel(kernel, shared, inputs).outputs[0], Values{2.5}) << kernel.name;
  }
}

TEST(SquaredError, GradientHasTheSameDivisor) {
  const Problem shared =
      make("squared_error_grad", {{1}, {2, 2}, {2, 2}}, {{"global_batch", std::int64_t{4}}});
  for (const Kernel& kernel : kernels_here(operator_of("squared_error_grad")))
    EXPECT_EQ(run_kernel(kernel, shared, {{2}, {1, 2, 3, 4}, {1, 0, 3, 8}}).outputs[0],
              (Values{0, 1, 0, -2}));
}

TEST(SquaredError, HasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("squared_error");
  const Case c{.tier = Tier::ci, .inputs = {{99999}, {99999}}};
  const Problem p = problem_of(op, c, DType::f32);
  const auto inputs = inputs_of(p, c, Numbers::normal, 3);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Values alone = run_kernel(cpu_kernel(op), p, inputs).outputs[0];
  omp_set_num_threads(3);
  EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs[0], alone);
  omp_set_num_threads(before);
}

TEST(SquaredError, RejectsBadRequests) {
  EXPECT_THROW(make("squared_error", {{2, 3}, {3, 2}}), Error);
  EXPECT_THROW(make("squared_error", {{2}, {2}}, {{"global_batch", std::int64_t{-1}}}), Error);
  EXPECT_THROW(make("squared_error_grad", {{2}, {2}, {2}}), Error);
}

TEST(OneHot, MarksTheLabelAndSpoilsUnknownRows) {
  for (const Kernel& kernel : kernels_here(operator_of("one_hot"))) {
    const Values y = run_kernel(kernel, labels(3, {{"classes", std::int64_t{2}}}), {{1, 0, 2}}).outputs[0];
    EXPECT_EQ(Values(y.begin(), y.begin() + 4), (Values{0, 1, 1, 0}));
    EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
  }
}

TEST(OneHot, RejectsBadRequests) {
  EXPECT_EQ(labels(3, {{"classes", std::int64_t{2}}, {"dtype", std::string("fp64")}}).outputs[0].dtype,
            DType::f64);
  EXPECT_THROW(labels(3, {}), Error);
  EXPECT_THROW(labels(3, {{"classes", std::int64_t{2}}, {"dtype", std::string("int32")}}), Error);
}

}  // namespace squared_error_test
}  // namespace headroom::testing
