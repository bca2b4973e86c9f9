#include "ops/conv3d/conv3d.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv3d_test {

using Ints = std::vector<std::int64_t>;

Problem volume_problem(std::string_view op, std::vector<Shape> inputs, const Attrs& attrs) {
  return problem_of(operator_of(op), {.tier = Tier::ci, .inputs = std::move(inputs), .attrs = attrs},
                    DType::f32);
}

void expect_of_all(const Problem& problem, const std::vector<Values>& inputs, const Values& want) {
  for (const Kernel& kernel : kernels_here(operator_of(problem.op))) {
    if (!kernel.accepts(problem, cpu_capabilities()).ok) continue;
    EXPECT_EQ(run_kernel(kernel, problem, inputs).outputs[0], want) << kernel.name;
  }
}

// Computed by hand: two slices, a window over both, padded in front.
TEST(Conv3d, SumsOverSlices) {
  const Attrs attrs{{"pads", Ints{1, 0, 0, 0, 0, 0}}};
  const Problem p = volume_problem("conv3d", {{1, 1, 2, 1, 2}, {1, 1, 2, 1, 1}, {1}}, attrs);
  EXPECT_EQ(p.outputs[0].shape, (Shape{1, 1, 2, 1, 2}));
  expect_of_all(p, {{1, 2, 3, 4}, {10, 1}, {0.5}}, {1.5, 2.5, 13.5, 24.5});
}

TEST(Conv3d, GradientOfTheInputGoesBackToEachTap) {
  const Attrs attrs{{"strides", Ints{2, 1, 1}}, {"input_shape", Ints{1, 1, 4, 1, 1}}};
  const Problem p = volume_problem("conv3d_grad_input", {{1, 1, 2, 1, 1}, {1, 1, 2, 1, 1}}, attrs);
  expect_of_all(p, {{3, 5}, {1, 10}}, {3, 30, 5, 50});
}

TEST(Conv3d, CountsEachProductOnce) {
  const Problem p =
      volume_problem("conv3d", {{2, 4, 5, 6, 7}, {6, 2, 3, 3, 3}}, {{"groups", std::int64_t{2}}});
  EXPECT_EQ(operator_of("conv3d").schema.cost(p).multiply_add, 2.0 * 2 * 6 * (3 * 4 * 5) * (2 * 27));
}

TEST(Conv3d, TheForwardPassHasTheSameBitsWithAnyNumberOfThreads) {
  const Operator& op = operator_of("conv3d");
  const Case c{.inputs = {{1, 20, 5, 29, 31}, {2, 20, 3, 3, 3}, {2}}, .attrs = {{"pads", Ints(6, 1)}}};
  const Problem problem = problem_of(op, c, DType::f32);
  const auto inputs = inputs_of(problem, c, Numbers::normal, 3);
  const auto kernel = std::ranges::find(op.kernels, "cpu:im2col_gemm", &Kernel::name);
  ASSERT_NE(kernel, op.kernels.end());
  const int before = omp_get_max_threads();
  std::vector<Values> results;
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    results.push_back(run_kernel(*kernel, problem, inputs).outputs[0]);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Conv3d, RefusesWhatDoesNotFit) {
  const auto infer = operator_of("conv3d").schema.infer;
  const TensorType x{{1, 4, 5, 5, 5}, DType::f32};
  EXPECT_THROW(infer({{{1, 4, 5, 5}, DType::f32}, {{2, 4, 3, 3}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({x, {{2, 3, 3, 3, 3}, DType::f32}}, {}), Error);  // channels
  EXPECT_THROW(infer({x, {{2, 4, 6, 3, 3}, DType::f32}}, {}), Error);  // deeper than the input
  EXPECT_THROW(infer({x, {{2, 4, 3, 3, 3}, DType::f32}}, {{"strides", Ints{1, 1}}}), Error);
  EXPECT_THROW(infer({x, {{2, 4, 3, 3, 3}, DType::f32}, {{3}, DType::f32}}, {}), Error);  // bias
}

}  // namespace conv3d_test
}  // namespace headroom::testing
