#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace quantize_test {

// By the reference; every kernel must agree.
Values results(const std::string& op, const Case& c, const std::vector<Values>& inputs) {
  const Problem p = problem_of(operator_of(op), c, DType::f32);
  const Values y = run_kernel(reference_of(operator_of(op)), p, inputs).outputs[0];
  for (const Kernel& kernel : kernels_for(p))
    EXPECT_EQ(run_kernel(kernel, p, inputs).outputs[0], y) << kernel.name;
  return y;
}

Attrs range(DType to, std::int64_t low, std::int64_t high) {
  return {{"to", std::string(name_of(to))}, {"low", low}, {"high", high}};
}

Values quantize(const Values& x, double scale, double zero, DType to, std::int64_t low, std::int64_t high) {
  return results("quantize",
                 {.inputs = {{static_cast<std::int64_t>(x.size())}, Shape{}, Shape{}},
                  .attrs = range(to, low, high),
                  .dtypes = {std::nullopt, std::nullopt, to}},
                 {x, {scale}, {zero}});
}

TEST(Quantize, RoundsHalvesToEven) {
  EXPECT_EQ(quantize({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997}, 1, 10, DType::u8, 0, 255),
            (Values{8, 8, 10, 10, 12, 12, 10}));
  EXPECT_EQ(quantize({5, 15, 25}, 10, 0, DType::i8, -128, 127), (Values{0, 2, 2}));
}

TEST(Quantize, StopsAtBothEnds) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(quantize({-1e30, -inf, 1e30, inf, 127.5, -200}, 1, 100, DType::u8, 0, 255),
            (Values{0, 0, 255, 255, 228, 0}));
  EXPECT_EQ(quantize({-9, 8, -7.6}, 1, 0, DType::i8, -8, 7), (Values{-8, 7, -8}));
  EXPECT_EQ(quantize({70000, -5, 65534.4}, 1, 0, DType::i32, 0, 65535), (Values{65535, 0, 65534}));
}

TEST(Quantize, NaNBecomesTheLowerEnd) {
  EXPECT_EQ(quantize({std::nan(""), 3}, 1, 7, DType::i8, -128, 127), (Values{-128, 10}));
}

TEST(Quantize, RequantizesSums) {
  EXPECT_EQ(results("requantize",
                    {.inputs = {{2, 3}, {3}, Shape{}},
                     .attrs = {{"to", std::string("int8")},
                               {"low", std::int64_t{-128}},
                               {"high", std::int64_t{127}},
                               {"axis", std::int64_t{1}}},
                     .dtypes = {DType::i32, std::nullopt, DType::i8}},
                    {{1000, 3, -5, -1000000, 5, 2147483647}, {0.1, 0.5, 0.25}, {-1}}),
            (Values{99, 1, -2, -128, 1, 127}));
}

TEST(Quantize, DequantizesByBlocks) {
  EXPECT_EQ(results("dequantize",
                    {.inputs = {{2, 5}, {2, 3}, {2, 3}},
                     .attrs = {{"axis", std::int64_t{1}}, {"block", std::int64_t{2}}},
                     .dtypes = {DType::i8, std::nullopt, DType::i8}},
                    {{1, 2, 3, 4, 5, -1, -2, -3, -4, -5}, {1, 2, 3, 4, 5, 6}, {0, 1, 2, -1, 0, 5}}),
            (Values{1, 2, 4, 6, 9, 0, -4, -15, -20, -60}));
}

TEST(Quantize, RejectsWhatDoesNotFit) {
  const auto infer = schema_of("quantize").infer;
  const Attrs bytes = range(DType::u8, 0, 255);
  const TensorType x{{2, 3}, DType::f32}, one{{1}, DType::f32}, zero{{1}, DType::u8};
  EXPECT_NO_THROW(infer({x, one, zero}, bytes));
  EXPECT_THROW(infer({x, one, {{1}, DType::i8}}, bytes), Error);                // another type
  EXPECT_THROW(infer({x, {{4}, DType::f32}, zero}, bytes), Error);              // three columns
  EXPECT_THROW(infer({x, {{3}, DType::f32}, {{2}, DType::u8}}, bytes), Error);  // zero points of other scales
  EXPECT_THROW(infer({x, one, zero}, range(DType::u8, 0, 256)), Error);
  EXPECT_THROW(infer({{{2}, DType::i32}, one, zero}, bytes), Error);
  EXPECT_THROW(schema_of("dequantize").infer({x, one, zero}, {}), Error);
  EXPECT_THROW(schema_of("requantize").infer({x, one, zero}, bytes), Error);
}

}  // namespace quantize_test
}  // namespace headroom::testing
