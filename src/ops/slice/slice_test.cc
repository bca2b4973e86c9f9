#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace slice_test {

using Integers = std::vector<std::int64_t>;

Values sliced(const Attrs& attrs, DType dtype = DType::f64) {
  const TensorType x{{2, 5}, dtype};
  const Problem p{
      .op = "slice", .inputs = {x}, .outputs = operator_of("slice").schema.infer({x}, attrs), .attrs = attrs};
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of("slice")))
    results.push_back(run_kernel(kernel, p, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}).outputs[0]);
  EXPECT_EQ(results[0], results[1]);
  return results[0];
}

Attrs along(std::int64_t start, std::int64_t end, std::int64_t step = 1) {
  return {
      {"starts", Integers{start}}, {"ends", Integers{end}}, {"axes", Integers{1}}, {"steps", Integers{step}}};
}

TEST(Slice, EndsAreClampedAndNegativeOnesCountFromTheEnd) {
  EXPECT_EQ(sliced(along(1, 3)), (Values{1, 2, 6, 7}));
  EXPECT_EQ(sliced(along(-2, 1000)), (Values{3, 4, 8, 9}));
  EXPECT_EQ(sliced(along(-1000, -4)), (Values{0, 5}));
}

TEST(Slice, NegativeStepsRunBackwards) {
  EXPECT_EQ(sliced(along(-1, -1000, -2)), (Values{4, 2, 0, 9, 7, 5}));
  EXPECT_EQ(sliced(along(1000, 1, -1)), (Values{4, 3, 2, 9, 8, 7}));
  EXPECT_EQ(sliced(along(3, INT64_MIN, INT64_MIN)), (Values{3, 8}));
}

TEST(Slice, TakesIntegers) {
  EXPECT_EQ(sliced(along(0, 5, 3), DType::i64), (Values{0, 3, 5, 8}));
  EXPECT_EQ(sliced(along(0, 5, 3), DType::u8), (Values{0, 3, 5, 8}));
}

TEST(Slice, RejectsEmptyAndMalformedRanges) {
  EXPECT_THROW(sliced(along(3, 3)), Error);
  EXPECT_THROW(sliced(along(3, 1)), Error);
  EXPECT_THROW(sliced(along(1, 3, -1)), Error);
  EXPECT_THROW(sliced(along(5, 9)), Error);
  EXPECT_THROW(sliced(along(0, 3, 0)), Error);
  EXPECT_THROW(sliced({{"starts", Integers{0, 0}}, {"ends", Integers{1}}}), Error);
  EXPECT_THROW(sliced({{"starts", Integers{0, 0, 0}}, {"ends", Integers{1, 1, 1}}}), Error);
}

}  // namespace slice_test
}  // namespace headroom::testing
