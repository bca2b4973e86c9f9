#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace adaptive_pool_test {

using Integers = std::vector<std::int64_t>;

Values run(const std::string& op, std::vector<Shape> shapes, const std::vector<Values>& inputs,
           const Attrs& attrs = {}) {
  Problem p{.op = op, .inputs = {}, .outputs = {}, .attrs = attrs};
  for (const Shape& shape : shapes) p.inputs.push_back({shape, DType::f64});
  p.outputs = operator_of(op).schema.infer(p.inputs, attrs);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, p, inputs).outputs[0]);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    if (!std::isnan(results[1][i])) {
      EXPECT_EQ(results[0][i], results[1][i]);
    }
    EXPECT_EQ(std::isnan(results[0][i]), std::isnan(results[1][i]));
  }
  return results[0];
}

Attrs windows(std::int64_t h, std::int64_t w) { return {{"output", Integers{h, w}}}; }

TEST(AdaptivePool, WindowsOverlapWhereTheyDoNotDivide) {
  // Three windows of five: [0, 2), [1, 4), [3, 5).
  EXPECT_EQ(run("adaptive_avg_pool", {{1, 1, 1, 5}}, {{2, 4, 6, 8, 10}}, windows(1, 3)), (Values{3, 6, 9}));
  EXPECT_EQ(run("adaptive_max_pool", {{1, 1, 1, 5}}, {{9, 4, 6, 8, 1}}, windows(1, 3)), (Values{9, 8, 8}));
  EXPECT_EQ(run("adaptive_max_pool_grad", {{1, 1, 1, 3}, {1, 1, 1, 5}}, {{1, 2, 4}, {9, 4, 6, 8, 1}},
                windows(1, 3)),
            (Values{1, 0, 0, 6, 0}));
}

TEST(AdaptivePool, MoreWindowsThanElementsRepeatThem) {
  EXPECT_EQ(run("adaptive_avg_pool", {{1, 1, 2, 1}}, {{3, 5}}, windows(4, 1)), (Values{3, 3, 5, 5}));
}

TEST(GlobalPool, TakesAllAxesFromTheThird) {
  EXPECT_EQ(run("global_avg_pool", {{1, 2, 2, 1, 2}}, {{1, 2, 3, 6, 4, 4, 4, 4}}), (Values{3, 4}));
  EXPECT_EQ(run("global_max_pool", {{1, 2, 4}}, {{1, 2, 3, 6, 4, -4, 9, 4}}), (Values{6, 9}));
}

TEST(GlobalPool, OfEqualElementsTheFirstGetsTheGradient) {
  Values x(200, 1), want(200, 0);
  x[70] = x[71] = x[150] = 3;
  want[70] = 5;
  EXPECT_EQ(run("adaptive_max_pool_grad", {{1, 1, 1}, {1, 1, 200}}, {{5}, x}), want);
}

TEST(GlobalPool, NanIsTheLargest) {
  for (std::size_t at : {0u, 5u, 69u, 133u, 199u}) {
    Values x(200, 1);
    x[at] = std::nan("");
    x[3] = INFINITY;
    EXPECT_TRUE(std::isnan(run("global_max_pool", {{1, 1, 200}}, {x})[0])) << at;
    EXPECT_EQ(run("adaptive_max_pool_grad", {{1, 1, 1}, {1, 1, 200}}, {{5}, x})[at], 5) << at;
    EXPECT_TRUE(std::isnan(run("adaptive_max_pool", {{1, 1, 2, 100}}, {x}, windows(1, 1))[0])) << at;
  }
}

TEST(AdaptivePool, RejectsBadShapes) {
  EXPECT_THROW(run("adaptive_avg_pool", {{1, 1, 2, 2}}, {{}}), Error);
  EXPECT_THROW(run("adaptive_avg_pool", {{1, 1, 2, 2}}, {{}}, windows(0, 1)), Error);
  EXPECT_THROW(run("adaptive_avg_pool", {{1, 1, 2}}, {{}}, windows(1, 1)), Error);
  EXPECT_THROW(run("global_max_pool", {{1, 2}}, {{}}), Error);
}

}  // namespace adaptive_pool_test
}  // namespace headroom::testing
