#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace bias_grad_test {

Problem make(const Shape& shape, DType dtype = DType::f32) {
  return problem_of(operator_of("bias_grad"), {.tier = Tier::ci, .inputs = {shape}}, dtype);
}

TEST(BiasGrad, CountsTheElementsOfEachChannel) {
  for (const Shape& shape : std::vector<Shape>{{1000, 10}, {3, 10, 5, 7}})
    for (const Kernel& kernel : kernels_for(make(shape))) {
      const Problem p = make(shape);
      const auto n = static_cast<std::size_t>(shape.numel());
      const Values sums = run_kernel(kernel, p, {Values(n, 1.0)}).outputs[0];
      for (double sum : sums) EXPECT_EQ(sum, static_cast<double>(n) / 10) << kernel.name;
    }
}

TEST(BiasGrad, NanSpoilsItsChannelOnly) {
  for (const Kernel& kernel : kernels_for(make({10, 2}))) {
    Values dy(20, 1.0);
    dy[13] = std::nan("");
    const Values sums = run_kernel(kernel, make({10, 2}), {dy}).outputs[0];
    EXPECT_EQ(sums[0], 10) << kernel.name;
    EXPECT_TRUE(std::isnan(sums[1])) << kernel.name;
  }
}

TEST(BiasGrad, HasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("bias_grad");
  const int before = omp_get_max_threads();
  for (const Shape& shape : std::vector<Shape>{{3000, 10}, {2000, 65}, {40, 6, 24, 24}}) {
    const Case c{.tier = Tier::ci, .inputs = {shape}};
    const Problem p = problem_of(op, c, DType::f32);
    const auto inputs = inputs_of(p, c, Numbers::normal, 3);
    omp_set_num_threads(1);
    const Values alone = run_kernel(cpu_kernel(op), p, inputs).outputs[0];
    for (int threads : {2, 3, 7}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs[0], alone) << shape.str();
    }
  }
  omp_set_num_threads(before);
}

TEST(BiasGrad, RejectsBadShapes) {
  EXPECT_THROW(make({5}), Error);
  EXPECT_THROW(make({0, 5}), Error);
  EXPECT_THROW(make({2, 5}, DType::i32), Error);
}

}  // namespace bias_grad_test
}  // namespace headroom::testing
