#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace count_correct_test {

double count(const Kernel& kernel, std::int64_t rows, const Values& scores, const Values& labels,
             DType type = DType::i32) {
  const auto classes = static_cast<std::int64_t>(scores.size()) / rows;
  Problem p{.op = "count_correct",
            .inputs = {{{rows, classes}, DType::f32}, {{rows}, type}},
            .outputs = {{{1}, DType::f32}},
            .attrs = {}};
  return run_kernel(kernel, p, {scores, labels}).outputs[0][0];
}

TEST(CountCorrect, TheFirstOfEqualScoresIsThePrediction) {
  for (const Kernel& kernel : kernels_here(operator_of("count_correct"))) {
    EXPECT_EQ(count(kernel, 3, {1, 2, 2, 1, 2, 2, 1, 2, 2}, {1, 2, 0}), 1) << kernel.name;
    EXPECT_EQ(count(kernel, 2, {1, 2, 3, 3, 2, 1}, {2, 0}, DType::i64), 2) << kernel.name;
  }
}

TEST(CountCorrect, NanPredictsNothing) {
  const double nan = std::nan("");
  for (const Kernel& kernel : kernels_here(operator_of("count_correct"))) {
    EXPECT_EQ(count(kernel, 3, {nan, 1, 1, nan, 2, 3}, {0, 0, 1}), 1) << kernel.name;
    EXPECT_EQ(count(kernel, 1, {nan}, {0}), 0) << kernel.name;
  }
}

TEST(CountCorrect, ALabelThatIsNoClassIsNeverCorrect) {
  for (const Kernel& kernel : kernels_here(operator_of("count_correct")))
    EXPECT_EQ(count(kernel, 3, {1, 2, 1, 2, 1, 2}, {-1, 2, 2147483647}), 0) << kernel.name;
}

TEST(CountCorrect, RejectsBadShapes) {
  const auto infer = operator_of("count_correct").schema.infer;
  const TensorType scores{{4, 3}, DType::f32};
  EXPECT_THROW(infer({scores}, {}), Error);
  EXPECT_THROW(infer({scores, {{3}, DType::i32}}, {}), Error);
  EXPECT_THROW(infer({scores, {{4}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({{{4}, DType::f32}, {{4}, DType::i32}}, {}), Error);
}

}  // namespace count_correct_test
}  // namespace headroom::testing
