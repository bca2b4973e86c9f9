#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace where_test {

TEST(Where, PicksAndStretches) {
  const Case c{.tier = Tier::ci, .inputs = {{2, 1}, {3}, {2, 3}}, .dtypes = {DType::boolean}};
  const Problem p = problem_of(operator_of("where"), c, DType::f32);
  for (const Kernel& kernel : kernels_here(operator_of("where")))
    EXPECT_EQ(run_kernel(kernel, p, {{1, 0}, {1, 2, 3}, {4, 5, 6, 7, 8, 9}}).outputs[0],
              (Values{1, 2, 3, 7, 8, 9}));
}

TEST(Where, AnyByteButZeroIsTrueAndTheOtherSideMayBeNan) {
  const Case c{.tier = Tier::ci, .inputs = {{2}, {2}, {2}}, .dtypes = {DType::u8}};
  const Problem p = problem_of(operator_of("where"), c, DType::f32);
  for (const Kernel& kernel : kernels_here(operator_of("where")))
    EXPECT_EQ(run_kernel(kernel, p, {{200, 0}, {1, std::nan("")}, {std::nan(""), 2}}).outputs[0],
              (Values{1, 2}));
}

TEST(Where, RejectsBadRequests) {
  const auto infer = operator_of("where").schema.infer;
  const TensorType bits{{2}, DType::boolean}, x{{2}, DType::f32};
  EXPECT_THROW(infer({x, x, x}, {}), Error);
  EXPECT_THROW(infer({bits, x}, {}), Error);
  EXPECT_THROW(infer({bits, x, {{3}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({{{3}, DType::boolean}, x, x}, {}), Error);
  EXPECT_THROW(infer({bits, x, {{2}, DType::f64}}, {}), Error);
}

}  // namespace where_test
}  // namespace headroom::testing
