#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace integer_product_test {

Values results(const std::string& op, const Case& c, const std::vector<Values>& inputs) {
  const Problem p = problem_of(operator_of(op), c, DType::f32);
  const Values y = run_kernel(reference_of(operator_of(op)), p, inputs).outputs[0];
  for (const Kernel& kernel : kernels_for(p))
    EXPECT_EQ(run_kernel(kernel, p, inputs).outputs[0], y) << kernel.name;
  return y;
}

TEST(IntegerProduct, SubtractsZeroPointsOfRowsAndColumns) {
  EXPECT_EQ(
      results("matmul_integer",
              {.inputs = {{2, 3}, {3, 2}, {2}, {2}}, .dtypes = {DType::u8, DType::i8, DType::u8, DType::i8}},
              {{1, 2, 3, 250, 251, 252}, {-1, 2, -3, 4, -5, 6}, {1, 250}, {-1, 1}}),
      (Values{-10, 13, -10, 13}));
}

// Longer than sums of bytes that fit int32, also of the bytes less 128 that processors multiply.
TEST(IntegerProduct, WrapsAround) {
  const std::int64_t k = 70000;
  const Values a(static_cast<std::size_t>(k), 255), b(static_cast<std::size_t>(k), 255);
  EXPECT_EQ(results("matmul_integer",
                    {.inputs = {{1, k}, {k, 1}, Shape{}, Shape{}},
                     .dtypes = {DType::u8, DType::u8, DType::u8, DType::u8}},
                    {a, b, {0}, {0}}),
            (Values{double(static_cast<std::int32_t>(static_cast<std::uint32_t>(k * 255 * 255)))}));
}

// Padding stands for zero, not for the byte 0.
TEST(IntegerProduct, PaddingHasTheValueOfTheZeroPoint) {
  EXPECT_EQ(results("conv2d_integer",
                    {.inputs = {{1, 1, 1, 1}, {1, 1, 3, 3}, Shape{}, Shape{}},
                     .attrs = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}},
                     .dtypes = {DType::u8, DType::i8, DType::u8, DType::i8}},
                    {{103}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {100}, {0}}),
            (Values{15}));
}

TEST(IntegerProduct, RejectsOtherTypesAndZeroPoints) {
  const auto infer = schema_of("matmul_integer").infer;
  const TensorType a{{2, 3}, DType::u8}, b{{3, 4}, DType::i8}, az{{1}, DType::u8}, bz{{1}, DType::i8};
  EXPECT_EQ(infer({a, b, az, bz}, {})[0], (TensorType{{2, 4}, DType::i32}));
  EXPECT_THROW(infer({a, b, bz, bz}, {}), Error);
  EXPECT_THROW(infer({a, b, {{3}, DType::u8}, bz}, {}), Error);
  EXPECT_THROW(infer({{{2, 3}, DType::f32}, b, az, bz}, {}), Error);
  EXPECT_THROW(infer({{{2, 3}, DType::i32}, b, {{1}, DType::i32}, bz}, {}), Error);
}

}  // namespace integer_product_test
}  // namespace headroom::testing
