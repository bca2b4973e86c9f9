#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace resize_test {

using Integers = std::vector<std::int64_t>;

// A row of pixels, brought to `width`.
Values row(const Values& x, std::int64_t width, Attrs attrs) {
  attrs.set("sizes", Integers{1, width});
  const TensorType type{{1, 1, 1, std::int64_t(x.size())}, DType::f64};
  const Problem p{.op = "resize",
                  .inputs = {type},
                  .outputs = operator_of("resize").schema.infer({type}, attrs),
                  .attrs = attrs};
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of("resize")))
    results.push_back(run_kernel(kernel, p, {x}).outputs[0]);
  EXPECT_EQ(results[0].size(), results[1].size());
  for (std::size_t i = 0; i < results[0].size(); ++i)
    if (!std::isnan(results[0][i])) {
      EXPECT_NEAR(results[0][i], results[1][i], 1e-15);
    }
  return results[0];
}

Attrs with(std::string mode, std::string coordinates, std::string rounding = "round_prefer_floor") {
  return {{"mode", mode}, {"coordinates", coordinates}, {"nearest_mode", rounding}};
}

TEST(Resize, NearestRoundsAsItIsTold) {
  // Three from two, pixels as areas: the places are -1/6, 1/2 and 7/6; only the tie depends on the rounding.
  EXPECT_EQ(row({10, 20}, 3, with("nearest", "half_pixel")), (Values{10, 10, 20}));
  EXPECT_EQ(row({10, 20}, 3, with("nearest", "half_pixel", "round_prefer_ceil")), (Values{10, 20, 20}));
  EXPECT_EQ(row({10, 20}, 3, with("nearest", "half_pixel", "floor")), (Values{10, 10, 20}));
  EXPECT_EQ(row({10, 20}, 3, with("nearest", "half_pixel", "ceil")), (Values{10, 20, 20}));
  EXPECT_EQ(row({1, 2, 3}, 6, with("nearest", "asymmetric", "floor")), (Values{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(row({1, 2, 3, 4, 5}, 3, with("nearest", "align_corners")), (Values{1, 3, 5}));
}

TEST(Resize, BilinearWeighsNeighbours) {
  EXPECT_EQ(row({0, 8}, 4, with("bilinear", "half_pixel")), (Values{0, 2, 6, 8}));
  EXPECT_EQ(row({0, 8}, 4, with("bilinear", "asymmetric")), (Values{0, 4, 8, 8}));
  EXPECT_EQ(row({0, 6, 12}, 5, with("bilinear", "align_corners")), (Values{0, 3, 6, 9, 12}));
  EXPECT_EQ(row({1, 3, 5, 7}, 2, with("bilinear", "half_pixel")), (Values{2, 6}));
}

// 3 pixels times 1.5 are 4: the places follow from 1.5, not from 4/3.
TEST(Resize, ScalesThatDoNotGiveAWholeSize) {
  Attrs attrs = with("nearest", "asymmetric", "floor");
  EXPECT_EQ(row({10, 20, 30}, 4, attrs), (Values{10, 10, 20, 30}));
  attrs.set("scale_w", 1.5);
  EXPECT_EQ(row({10, 20, 30}, 4, attrs), (Values{10, 10, 20, 30}));
  attrs.set("scale_w", 1.9);
  EXPECT_EQ(row({10, 20, 30}, 4, attrs), (Values{10, 10, 20, 20}));
  Attrs areas = with("bilinear", "half_pixel");
  areas.set("scale_w", 2.0);
  const Values y = row({10, 20, 30}, 5, areas);
  EXPECT_NEAR(y[1], 12.5, 1e-12);
  EXPECT_NEAR(y[4], 27.5, 1e-12);
}

TEST(Resize, OnePixelAlone) {
  EXPECT_EQ(row({7}, 3, with("bilinear", "half_pixel")), (Values{7, 7, 7}));
  EXPECT_EQ(row({1, 2, 3}, 1, with("bilinear", "half_pixel")), (Values{2}));
  EXPECT_EQ(row({1, 2, 3}, 1, with("bilinear", "align_corners")), (Values{1}));
}

TEST(Resize, NanStaysWithThePixelsThatReadIt) {
  const Values y = row({1, 2, 3, std::nan("")}, 4, with("bilinear", "asymmetric"));
  EXPECT_EQ(Values(y.begin(), y.begin() + 3), (Values{1, 2, 3}));
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Resize, RejectsUnknownWords) {
  EXPECT_THROW(row({1}, 2, with("cubic", "half_pixel")), Error);
  EXPECT_THROW(row({1}, 2, with("nearest", "half")), Error);
  EXPECT_THROW(row({1}, 2, with("nearest", "half_pixel", "up")), Error);
  EXPECT_THROW(row({1}, 0, with("nearest", "half_pixel")), Error);
}

}  // namespace resize_test
}  // namespace headroom::testing
