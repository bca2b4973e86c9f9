#include "ops/non_zero/non_zero.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace non_zero_test {

TEST(NonZero, ColumnsOfCoordinatesThenZeros) {
  const Case c{.tier = Tier::ci, .inputs = {{2, 3}}};
  const Problem p = problem_of(operator_of("non_zero"), c, DType::f32);
  for (const Kernel& kernel : kernels_here(operator_of("non_zero"))) {
    const auto r = run_kernel(kernel, p, {{0, 1, -0.0, std::nan(""), 0, -2}});
    EXPECT_EQ(r.outputs[0], (Values{0, 1, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0})) << kernel.name;
    EXPECT_EQ(r.outputs[1], (Values{3})) << kernel.name;
    EXPECT_EQ(run_kernel(kernel, p, {Values(6, 0)}).outputs[1], (Values{0}));
    EXPECT_EQ(run_kernel(kernel, p, {Values(6, 1)}).outputs[1], (Values{6}));
  }
}

}  // namespace non_zero_test
}  // namespace headroom::testing
