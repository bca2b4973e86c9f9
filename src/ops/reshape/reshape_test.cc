#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace reshape_test {

using Integers = std::vector<std::int64_t>;

Shape reshaped(const Shape& from, const Integers& to) {
  return operator_of("reshape").schema.infer({{from, DType::f32}}, {{"shape", to}})[0].shape;
}

TEST(Reshape, FillsInTheOpenExtent) {
  EXPECT_EQ(reshaped({4, 6}, {-1}), (Shape{24}));
  EXPECT_EQ(reshaped({4, 6}, {3, -1, 2}), (Shape{3, 4, 2}));
  EXPECT_EQ(reshaped({4, 6}, {24, -1}), (Shape{24, 1}));
  EXPECT_EQ(reshaped({1}, {}), Shape{});
}

TEST(Reshape, ZeroKeepsAnAxis) {
  EXPECT_EQ(reshaped({4, 6}, {0, -1}), (Shape{4, 6}));
  EXPECT_EQ(reshaped({4, 6}, {2, 0, -1}), (Shape{2, 6, 2}));
}

Shape view(std::string_view op, const Shape& from, const Attrs& attrs = {}) {
  return operator_of(op).schema.infer({{from, DType::f32}}, attrs)[0].shape;
}

TEST(Flatten, CutsTheAxesInTwo) {
  EXPECT_EQ(view("flatten", {2, 3, 4}), (Shape{2, 12}));
  EXPECT_EQ(view("flatten", {2, 3, 4}, {{"axis", std::int64_t{0}}}), (Shape{1, 24}));
  EXPECT_EQ(view("flatten", {2, 3, 4}, {{"axis", std::int64_t{3}}}), (Shape{24, 1}));
  EXPECT_EQ(view("flatten", {2, 3, 4}, {{"axis", std::int64_t{-1}}}), (Shape{6, 4}));
  EXPECT_THROW(view("flatten", {2, 3, 4}, {{"axis", std::int64_t{4}}}), Error);
}

TEST(Squeeze, DropsAxesOfOne) {
  EXPECT_EQ(view("squeeze", {1, 3, 1, 2}), (Shape{3, 2}));
  EXPECT_EQ(view("squeeze", {1, 3, 1, 2}, {{"axes", Integers{-2}}}), (Shape{1, 3, 2}));
  EXPECT_EQ(view("squeeze", {1, 1}), Shape{});
  EXPECT_THROW(view("squeeze", {1, 3}, {{"axes", Integers{1}}}), Error);
}

TEST(Unsqueeze, NamesAxesOfTheOutput) {
  EXPECT_EQ(view("unsqueeze", {3, 2}, {{"axes", Integers{0, -1}}}), (Shape{1, 3, 2, 1}));
  EXPECT_EQ(view("unsqueeze", Shape{}, {{"axes", Integers{0}}}), (Shape{1}));
  EXPECT_THROW(view("unsqueeze", {3, 2}, {{"axes", Integers{1, -3}}}), Error);
  EXPECT_THROW(view("unsqueeze", {3, 2}), Error);
}

TEST(Reshape, KeepsTheDtype) {
  const auto out = operator_of("reshape").schema.infer({{{4}, DType::i64}}, {{"shape", Integers{2, 2}}});
  EXPECT_EQ(out[0].dtype, DType::i64);
}

TEST(Reshape, RejectsAnotherNumberOfElements) {
  EXPECT_THROW(reshaped({4, 6}, {5, 5}), Error);
  EXPECT_THROW(reshaped({4, 6}, {5, -1}), Error);
  EXPECT_THROW(reshaped({4, 6}, {-1, -1}), Error);
  EXPECT_THROW(reshaped({4, 6}, {0, 0, 0}), Error);
  EXPECT_THROW(reshaped({4, 6}, {0, 5}), Error);
  EXPECT_THROW(reshaped({4, 6}, {-2, -12}), Error);
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_THROW(reshaped({4, 6}, {huge, huge}), Error);
  EXPECT_THROW(operator_of("reshape").schema.infer({{{4}, DType::f32}}, {}), Error);
}

}  // namespace reshape_test
}  // namespace headroom::testing
