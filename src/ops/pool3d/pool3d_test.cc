#include "ops/pool3d/pool3d.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace pool3d_test {

using Ints = std::vector<std::int64_t>;
const Attrs kTwo{{"kernel", Ints{2, 2, 2}}};

Problem pool_of(std::string_view op, std::vector<Shape> inputs, const Attrs& attrs) {
  return problem_of(operator_of(op), {.tier = Tier::ci, .inputs = std::move(inputs), .attrs = attrs},
                    DType::f32);
}

void expect_pooled(const Problem& problem, const std::vector<Values>& inputs, const Values& want) {
  for (const Kernel& kernel : kernels_here(operator_of(problem.op))) {
    if (!kernel.accepts(problem, cpu_capabilities()).ok) continue;
    const Values got = run_kernel(kernel, problem, inputs).outputs[0];
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
          << kernel.name << " element " << i << " is " << got[i];
  }
}

TEST(Pool3d, TheLargestOfBothSlices) {
  expect_pooled(pool_of("max_pool3d", {{1, 1, 2, 2, 4}}, kTwo),
                {{1, 2, 5, 4, 3, 0, -1, -2, 9, 1, 0, 0, 0, 0, 6, 0}}, {9, 6});
}

TEST(Pool3d, NanIsTheMaximumWhereverItStands) {
  for (std::size_t at = 0; at < 8; ++at) {
    Values x(8, 1.0);
    x[at] = std::nan("");
    expect_pooled(pool_of("max_pool3d", {{1, 1, 2, 2, 2}}, kTwo), {x}, {std::nan("")});
  }
}

TEST(Pool3d, TheFirstOfEqualsTakesTheGradient) {
  expect_pooled(pool_of("max_pool3d_grad", {{1, 1, 1, 1, 1}, {1, 1, 2, 2, 2}}, kTwo),
                {{10}, {1, 7, 7, 1, 7, 1, 1, 7}}, {0, 10, 0, 0, 0, 0, 0, 0});
}

TEST(Pool3d, MeansDivideByWhatTheySee) {
  Attrs attrs{{"kernel", Ints{2, 1, 1}}, {"strides", Ints{1, 1, 1}}, {"pads", Ints{1, 0, 0, 0, 0, 0}}};
  expect_pooled(pool_of("avg_pool3d", {{1, 1, 2, 1, 1}}, attrs), {{4, 8}}, {4, 6});
  attrs.set("count_include_pad", std::int64_t{1});
  expect_pooled(pool_of("avg_pool3d", {{1, 1, 2, 1, 1}}, attrs), {{4, 8}}, {2, 6});
}

TEST(Pool3d, RefusesWhatDoesNotFit) {
  const auto infer = operator_of("max_pool3d").schema.infer;
  EXPECT_THROW(infer({{{1, 2, 4, 4}, DType::f32}}, kTwo), Error);
  EXPECT_THROW(infer({{{1, 2, 4, 4, 4}, DType::f32}}, {{"kernel", Ints{2, 2}}}), Error);
  EXPECT_THROW(infer({{{1, 2, 1, 4, 4}, DType::f32}}, kTwo), Error);
  Attrs wide = kTwo;
  wide.set("pads", Ints{2, 0, 0, 0, 0, 0});
  EXPECT_THROW(infer({{{1, 2, 4, 4, 4}, DType::f32}}, wide), Error);  // a window of padding alone
}

}  // namespace pool3d_test
}  // namespace headroom::testing
