#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace transpose_test {

using Integers = std::vector<std::int64_t>;

TensorType transposed(const Shape& shape, const Attrs& attrs, DType dtype = DType::f32) {
  return operator_of("transpose").schema.infer({{shape, dtype}}, attrs)[0];
}

TEST(Transpose, NamesTheAxisEachOutputAxisComesFrom) {
  EXPECT_EQ(transposed({2, 3, 4}, {{"perm", Integers{2, 0, 1}}}).shape, (Shape{4, 2, 3}));
  EXPECT_EQ(transposed({2, 3, 4}, {{"perm", Integers{0, -1, -2}}}).shape, (Shape{2, 4, 3}));
  EXPECT_EQ(transposed({2, 3, 4}, {}).shape, (Shape{4, 3, 2}));
}

TEST(Transpose, TakesIntegersOfAnySize) {
  for (DType dtype : {DType::i64, DType::i32, DType::u8})
    for (const Kernel& kernel : kernels_here(operator_of("transpose"))) {
      const Problem p{.op = "transpose",
                      .inputs = {{{2, 3}, dtype}},
                      .outputs = {transposed({2, 3}, {}, dtype)},
                      .attrs = {}};
      EXPECT_EQ(run_kernel(kernel, p, {{1, 2, 3, 4, 5, 6}}).outputs[0], (Values{1, 4, 2, 5, 3, 6}));
    }
}

TEST(Transpose, RejectsWhatIsNoPermutation) {
  EXPECT_THROW(transposed({2, 3, 4}, {{"perm", Integers{0, 1}}}), Error);
  EXPECT_THROW(transposed({2, 3, 4}, {{"perm", Integers{0, 1, 1}}}), Error);
  EXPECT_THROW(transposed({2, 3, 4}, {{"perm", Integers{0, 1, 3}}}), Error);
  EXPECT_THROW(transposed({2, 0, 4}, {}), Error);
}

}  // namespace transpose_test
}  // namespace headroom::testing
