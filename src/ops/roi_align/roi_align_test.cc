#include "ops/roi_align/roi_align.h"

#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace roi_align_test {

// A 4x4 image whose pixels hold their column, and one region.
Values of_region(const Values& region, const std::string& mode, std::int64_t half, double image = 0) {
  const Case c{.tier = Tier::ci,
               .inputs = {{1, 1, 4, 4}, {1, 4}, {1}},
               .attrs = {{"output", std::vector<std::int64_t>{1, 2}},
                         {"sampling_ratio", std::int64_t{1}},
                         {"mode", mode},
                         {"half_pixel", half}},
               .dtypes = {{}, {}, DType::i64}};
  const Problem p = problem_of(operator_of("roi_align"), c, DType::f64);
  Values first;
  for (const Kernel& kernel : kernels_here(operator_of("roi_align"))) {
    const Values y =
        run_kernel(kernel, p, {{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, region, {image}}).outputs[0];
    if (!first.empty()) {
      EXPECT_EQ(y, first) << kernel.name;
    }
    first = y;
  }
  return first;
}

TEST(RoiAlign, BinsTakeTheMeanOfTheirPoints) {
  EXPECT_EQ(of_region({0, 0, 4, 4}, "avg", 1), (Values{0.5, 2.5}));
  EXPECT_EQ(of_region({0, 0, 4, 4}, "avg", 0), (Values{1, 3}));
  EXPECT_EQ(of_region({0, 0, 4, 4}, "max", 0), (Values{1, 3}));
  EXPECT_EQ(of_region({1, 1, 1, 1}, "avg", 0), (Values{1.25, 1.75})) << "at least a pixel wide";
  EXPECT_EQ(of_region({20, 20, 30, 30}, "avg", 1), (Values{0, 0})) << "outside of the image";
}

TEST(RoiAlign, RejectsBadRequests) {
  EXPECT_THROW(of_region({0, 0, 4, 4}, "avg", 1, 1), Error) << "there is one image";
  EXPECT_THROW(of_region({0, 0, 4, 4}, "mean", 1), Error);
  const auto infer = operator_of("roi_align").schema.infer;
  const TensorType x{{1, 2, 4, 4}, DType::f32}, regions{{3, 4}, DType::f32}, images{{3}, DType::i64};
  const Attrs output{{"output", std::vector<std::int64_t>{2, 2}}};
  EXPECT_EQ(infer({x, regions, images}, output)[0], (TensorType{{3, 2, 2, 2}, DType::f32}));
  EXPECT_THROW(infer({x, regions, images}, {}), Error);
  EXPECT_THROW(infer({x, images, images}, output), Error);
  EXPECT_THROW(infer({x, regions, {{2}, DType::i64}}, output), Error);
}

}  // namespace roi_align_test
}  // namespace headroom::testing
