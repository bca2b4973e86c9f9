#include "ops/cumsum/cumsum.h"

#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace cumsum_test {

TEST(Cumsum, EachOfItsFourWays) {
  const auto expect = [](std::int64_t exclusive, std::int64_t reverse, const Values& want) {
    for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
      const Case c{.tier = Tier::ci,
                   .inputs = {{2, 3}},
                   .attrs = {{"axis", std::int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}},
                   .dtypes = {dtype}};
      const Problem p = problem_of(operator_of("cumsum"), c, DType::f32);
      for (const Kernel& kernel : kernels_here(operator_of("cumsum")))
        EXPECT_EQ(run_kernel(kernel, p, {{1, 2, 3, 4, 5, 6}}).outputs[0], want) << kernel.name;
    }
  };
  expect(0, 0, {1, 3, 6, 4, 9, 15});
  expect(1, 0, {0, 1, 3, 0, 4, 9});
  expect(0, 1, {6, 5, 3, 15, 11, 6});
  expect(1, 1, {5, 3, 0, 11, 6, 0});
}

TEST(Cumsum, RejectsBadRequests) {
  const auto infer = operator_of("cumsum").schema.infer;
  const TensorType x{{2, 3}, DType::f32};
  EXPECT_THROW(infer({x}, {{"axis", std::int64_t{2}}}), Error);
  EXPECT_THROW(infer({x}, {{"reverse", std::int64_t{2}}}), Error);
  EXPECT_THROW(infer({{{2}, DType::boolean}}, {}), Error);
  EXPECT_THROW(infer({x, x}, {}), Error);
}

}  // namespace cumsum_test
}  // namespace headroom::testing
