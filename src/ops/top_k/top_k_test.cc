#include "ops/top_k/top_k.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace top_k_test {

std::vector<Run> run_all(const Shape& shape, const Values& x, const Attrs& attrs, DType dtype = DType::f32) {
  const Problem p = problem_of(
      operator_of("top_k"), {.tier = Tier::ci, .inputs = {shape}, .attrs = attrs, .dtypes = {dtype}}, dtype);
  std::vector<Run> results;
  for (const Kernel& kernel : kernels_here(operator_of("top_k")))
    results.push_back(run_kernel(kernel, p, {x}));
  return results;
}

Attrs top(std::int64_t k, std::int64_t largest, std::int64_t axis = -1) {
  return {{"axis", axis}, {"k", k}, {"largest", largest}};
}

TEST(TopK, TheBestComesFirstAndOfEqualOnesTheFirst) {
  for (DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32}) {
    for (const auto& r : run_all({2, 4}, {1, 3, 3, 2, 0, -1, -1, 5}, top(3, 1), dtype)) {
      EXPECT_EQ(r.outputs[0], (Values{3, 3, 2, 5, 0, -1}));
      EXPECT_EQ(r.outputs[1], (Values{1, 2, 3, 3, 0, 1}));
    }
    for (const auto& r : run_all({4, 2}, {1, 3, 3, 2, 0, -1, -1, 5}, top(2, 0, 0), dtype)) {
      EXPECT_EQ(r.outputs[0], (Values{-1, -1, 0, 2}));
      EXPECT_EQ(r.outputs[1], (Values{3, 2, 2, 1}));
    }
  }
}

TEST(TopK, NanIsLargerThanAnyNumber) {
  const Values x = {1, std::nan(""), 5, std::nan("")};
  for (const auto& r : run_all({4}, x, top(3, 1))) EXPECT_EQ(r.outputs[1], (Values{1, 3, 2}));
  for (const auto& r : run_all({4}, x, top(3, 0))) EXPECT_EQ(r.outputs[1], (Values{0, 2, 1}));
}

TEST(TopK, RejectsBadRequests) {
  const auto infer = operator_of("top_k").schema.infer;
  const TensorType x{{2, 3}, DType::f32};
  EXPECT_EQ(infer({x}, top(2, 1))[1], (TensorType{{2, 2}, DType::i64}));
  EXPECT_THROW(infer({x}, top(4, 1)), Error);
  EXPECT_THROW(infer({x}, top(0, 1)), Error);
  EXPECT_THROW(infer({x}, top(1, 2)), Error);
  EXPECT_THROW(infer({x}, top(1, 1, 2)), Error);
  EXPECT_THROW(infer({{{2}, DType::u8}}, top(1, 1)), Error);
}

}  // namespace top_k_test
}  // namespace headroom::testing
