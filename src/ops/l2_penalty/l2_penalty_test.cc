#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace l2_penalty_test {

Problem make(std::vector<Shape> inputs, double lambda, DType dtype = DType::f32) {
  const Case c{.tier = Tier::ci, .inputs = std::move(inputs), .attrs = {{"lambda", lambda}}};
  return problem_of(operator_of("l2_penalty"), c, dtype);
}

TEST(L2Penalty, IsHalfLambdaTimesTheSquares) {
  for (const Kernel& kernel : kernels_here(operator_of("l2_penalty")))
    EXPECT_EQ(run_kernel(kernel, make({{2}, {1, 2}}, 0.5), {{1, 2}, {3, -4}}).outputs[0][0], 7.5)
        << kernel.name;
}

TEST(L2Penalty, IsAddedToABase) {
  const Case c{.tier = Tier::ci,
               .inputs = {{1}, {2}, {1, 2}},
               .attrs = {{"lambda", 0.5}, {"has_base", std::int64_t{1}}}};
  const Problem p = problem_of(operator_of("l2_penalty"), c, DType::f32);
  for (const Kernel& kernel : kernels_here(operator_of("l2_penalty")))
    EXPECT_EQ(run_kernel(kernel, p, {{10}, {1, 2}, {3, -4}}).outputs[0][0], 17.5) << kernel.name;
  const auto infer = operator_of("l2_penalty").schema.infer;
  EXPECT_THROW(infer({{{1}, DType::f32}}, c.attrs), Error) << "a base and nothing else";
  EXPECT_THROW(infer({{{2}, DType::f32}, {{2}, DType::f32}}, c.attrs), Error) << "a base of two numbers";
}

// Each small square is below half a unit in the last place of 1e6 in fp32; together they are three units.
TEST(L2Penalty, DoesNotLoseSmallTermsInALongSum) {
  Values x(200000, 1e-3);
  x[0] = 1000;
  const double small = static_cast<double>(1e-3f);
  const double want = 1e6 + 199999 * small * small;
  for (const Kernel& kernel : kernels_here(operator_of("l2_penalty")))
    EXPECT_EQ(run_kernel(kernel, make({{200000}}, 2), {x}).outputs[0][0], static_cast<float>(want));
}

TEST(L2Penalty, NanShows) {
  for (const Kernel& kernel : kernels_here(operator_of("l2_penalty")))
    EXPECT_TRUE(std::isnan(run_kernel(kernel, make({{1}, {2}}, 1), {{1}, {2, std::nan("")}}).outputs[0][0]));
}

TEST(L2Penalty, HasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("l2_penalty");
  const Case c{.tier = Tier::ci, .inputs = {{100, 999}, {12345}}, .attrs = {{"lambda", 0.1}}};
  const Problem p = problem_of(op, c, DType::f64);
  const auto inputs = inputs_of(p, c, Numbers::normal, 3);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Values alone = run_kernel(cpu_kernel(op), p, inputs).outputs[0];
  for (int threads : {2, 3, 7}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs[0], alone);
  }
  omp_set_num_threads(before);
}

TEST(L2Penalty, RejectsBadRequests) {
  EXPECT_THROW(make({}, 1), Error);
  EXPECT_THROW(make({{2}}, -1), Error);
  EXPECT_THROW(make({{2}}, std::nan("")), Error);
  EXPECT_THROW(make({{2}}, 1, DType::i32), Error);
  const auto infer = operator_of("l2_penalty").schema.infer;
  EXPECT_THROW(infer({{{2}, DType::f32}, {{2}, DType::f64}}, {}), Error);
}

}  // namespace l2_penalty_test
}  // namespace headroom::testing
