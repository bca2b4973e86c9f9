#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace pad_test {

using Integers = std::vector<std::int64_t>;

Values padded(const Shape& shape, const Values& x, const Attrs& attrs) {
  const TensorType type{shape, DType::f64};
  const Problem p{.op = "pad",
                  .inputs = {type},
                  .outputs = operator_of("pad").schema.infer({type}, attrs),
                  .attrs = attrs};
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of("pad")))
    results.push_back(run_kernel(kernel, p, {x}).outputs[0]);
  EXPECT_EQ(results[0], results[1]);
  return results[0];
}

Attrs attrs(Integers pads, const std::string& mode) { return {{"pads", pads}, {"mode", mode}}; }

TEST(Pad, ModesByHand) {
  const Values x = {1, 2, 3, 4};
  EXPECT_EQ(padded({4}, x, {{"pads", Integers{2, 1}}, {"value", 9.0}}), (Values{9, 9, 1, 2, 3, 4, 9}));
  EXPECT_EQ(padded({4}, x, {{"pads", Integers{1, 0}}}), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(padded({4}, x, attrs({2, 1}, "edge")), (Values{1, 1, 1, 2, 3, 4, 4}));
  EXPECT_EQ(padded({4}, x, attrs({3, 2}, "reflect")), (Values{4, 3, 2, 1, 2, 3, 4, 3, 2}));
}

TEST(Pad, NegativePadsCrop) {
  const Values x = {1, 2, 3, 4};
  EXPECT_EQ(padded({4}, x, attrs({-1, -2}, "constant")), (Values{2}));
  EXPECT_EQ(padded({4}, x, attrs({-1, 2}, "edge")), (Values{2, 3, 4, 4, 4}));
  EXPECT_EQ(padded({4}, x, attrs({2, -2}, "reflect")), (Values{3, 2, 1, 2}));
  EXPECT_EQ(padded({4}, x, attrs({-4, 2}, "constant")), (Values{0, 0}));
}

TEST(Pad, AxesAreAllBeginningsThenAllEnds) {
  EXPECT_EQ(padded({2, 2}, {1, 2, 3, 4}, attrs({1, 0, 0, 1}, "edge")), (Values{1, 2, 2, 1, 2, 2, 3, 4, 4}));
}

TEST(Pad, RejectsWhatIsNotDefined) {
  const Values x = {1, 2, 3, 4};
  EXPECT_THROW(padded({4}, x, attrs({4, 0}, "reflect")), Error);
  EXPECT_THROW(padded({4}, x, attrs({1, 0}, "wrap")), Error);
  EXPECT_THROW(padded({4}, x, attrs({1}, "edge")), Error);
  EXPECT_THROW(padded({4}, x, attrs({-2, -2}, "constant")), Error);
  EXPECT_THROW(padded({4}, x, attrs({-4, 2}, "edge")), Error);
  EXPECT_THROW(padded({4}, x, attrs({-5, 9}, "constant")), Error);
}

}  // namespace pad_test
}  // namespace headroom::testing
