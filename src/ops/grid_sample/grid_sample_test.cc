#include "ops/grid_sample/grid_sample.h"

#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace grid_sample_test {

// A row of four pixels, 1 2 3 4, at points along it.
Values along(const Values& points, const std::string& mode, const std::string& padding, std::int64_t align) {
  const auto n = static_cast<std::int64_t>(points.size());
  const Case c{.tier = Tier::ci,
               .inputs = {{1, 1, 1, 4}, {1, 1, n, 2}},
               .attrs = {{"mode", mode}, {"padding", padding}, {"align_corners", align}}};
  Values grid;
  for (const double x : points) grid.push_back(x), grid.push_back(0);
  const Problem p = problem_of(operator_of("grid_sample"), c, DType::f64);
  Values first;
  for (const Kernel& kernel : kernels_here(operator_of("grid_sample"))) {
    const Values y = run_kernel(kernel, p, {{1, 2, 3, 4}, grid}).outputs[0];
    if (!first.empty()) {
      EXPECT_EQ(y, first) << kernel.name;
    }
    first = y;
  }
  return first;
}

TEST(GridSample, EdgesAndCentres) {
  EXPECT_EQ(along({-1, 0, 1}, "linear", "border", 1), (Values{1, 2.5, 4}));
  EXPECT_EQ(along({-1, 0, 1}, "linear", "border", 0), (Values{1, 2.5, 4}));
  EXPECT_EQ(along({-1, 0, 1}, "linear", "zeros", 0), (Values{0.5, 2.5, 2})) << "half of a pixel lies outside";
  EXPECT_EQ(along({-0.75, 0.25}, "linear", "zeros", 0), (Values{1, 3}));
}

TEST(GridSample, OutsideOfTheImage) {
  EXPECT_EQ(along({-3, 3}, "nearest", "zeros", 0), (Values{0, 0}));
  EXPECT_EQ(along({-3, 3}, "nearest", "border", 0), (Values{1, 4}));
  EXPECT_EQ(along({-1.25, 1.75}, "nearest", "reflection", 0), (Values{1, 3}));
  EXPECT_EQ(along({-5.0 / 3, 7}, "linear", "reflection", 1), (Values{2, 1}));
}

TEST(GridSample, NearestHalvesGoToTheEvenPixel) {
  EXPECT_EQ(along({-0.5, 0, 0.5}, "nearest", "border", 0), (Values{1, 3, 3}));
}

TEST(GridSample, RejectsBadRequests) {
  const auto infer = operator_of("grid_sample").schema.infer;
  const TensorType x{{2, 3, 4, 5}, DType::f32}, grid{{2, 6, 7, 2}, DType::f32},
      deep{{2, 3, 4, 5, 6}, DType::f32};
  EXPECT_EQ(infer({x, grid}, {})[0], (TensorType{{2, 3, 6, 7}, DType::f32}));
  EXPECT_THROW(infer({x, x}, {}), Error);
  EXPECT_THROW(infer({x, {{1, 6, 7, 2}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({x, grid}, {{"mode", std::string("cube")}}), Error);
  EXPECT_THROW(infer({x, grid}, {{"padding", std::string("wrap")}}), Error);
  EXPECT_THROW(infer({deep, {{2, 1, 1, 1, 3}, DType::f32}}, {{"mode", std::string("cubic")}}), Error);
}

}  // namespace grid_sample_test
}  // namespace headroom::testing
