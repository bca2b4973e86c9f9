#include "data/tensor_values.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom::testing {
namespace {

template <class T>
NamedTensor vector_of(Shape shape, std::initializer_list<T> values, DType dtype = dtype_of<T>()) {
  NamedTensor t{"x", {shape, dtype}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.begin());
  t.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return t;
}

TEST(TensorValues, ReadsEveryType) {
  EXPECT_EQ(value_at(vector_of<double>({2}, {0, 0.25}), 1), 0.25);
  EXPECT_EQ(value_at(vector_of<float>({1}, {-2}), 0), -2);
  EXPECT_EQ(value_at(vector_of<std::uint16_t>({1}, {0x3C00}, DType::f16), 0), 1);
  EXPECT_EQ(value_at(vector_of<std::uint16_t>({1}, {0x3F80}, DType::bf16), 0), 1);
  EXPECT_EQ(value_at(vector_of<std::int32_t>({1}, {-7}), 0), -7);
  EXPECT_EQ(value_at(vector_of<std::uint8_t>({1}, {255}), 0), 255);
  EXPECT_EQ(text_at(vector_of<std::int64_t>({1}, {9007199254740993}), 0), "9007199254740993");
  EXPECT_EQ(text_at(vector_of<std::int32_t>({1}, {-2147483647}), 0), "-2147483647");
  EXPECT_EQ(text_at(vector_of<std::uint8_t>({1}, {1}, DType::boolean), 0), "true");
}

TEST(TensorValues, ConvertsBetweenTypes) {
  const NamedTensor from = vector_of<double>({3}, {1.75, -2, 0});
  EXPECT_EQ(values_of(as_type(from, DType::i32)), (std::vector<double>{1, -2, 0}));
  EXPECT_EQ(values_of(as_type(from, DType::boolean)), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(values_of(as_type(from, DType::f16)), (std::vector<double>{1.75, -2, 0}));
}

TEST(TensorValues, ComparesWithinTolerance) {
  const Tolerance t{.relative = 0.1, .absolute = 0.01};
  const NamedTensor wanted = vector_of<float>({2, 2}, {1, 10, 0, -1});
  EXPECT_TRUE(compare(vector_of<float>({2, 2}, {1.1f, 10.9f, 0.01f, -1}), wanted, t).passed());
  const Difference c = compare(vector_of<float>({2, 2}, {1.2f, 12, 0.5f, -1}), wanted, t);
  EXPECT_EQ(c.wrong, 3);
  EXPECT_EQ(c.worst, 1);  // 2 off, 1.01 allowed
  EXPECT_FLOAT_EQ(static_cast<float>(c.error), 2);
  EXPECT_EQ(position_of(c.worst, wanted.type.shape), (std::vector<std::int64_t>{0, 1}));
}

TEST(TensorValues, NamesTheLargestErrorWhereAllIsRight) {
  const Difference c =
      compare(vector_of<float>({3}, {1, 2.0625f, 3.03125f}), vector_of<float>({3}, {1, 2, 3}), {1, 1});
  EXPECT_TRUE(c.passed());
  EXPECT_EQ(c.worst, 1);
  EXPECT_EQ(c.error, 0.0625);
}

TEST(TensorValues, KnowsNumbersThatAreNone) {
  const float nan = std::nanf(""), infinite = INFINITY;
  EXPECT_TRUE(
      compare(vector_of<float>({2}, {nan, infinite}), vector_of<float>({2}, {nan, infinite}), {}).passed());
  EXPECT_FALSE(compare(vector_of<float>({1}, {nan}), vector_of<float>({1}, {1}), {}).passed());
  EXPECT_FALSE(compare(vector_of<float>({1}, {1}), vector_of<float>({1}, {nan}), {}).passed());
  EXPECT_FALSE(compare(vector_of<float>({1}, {infinite}), vector_of<float>({1}, {-infinite}), {}).passed());
  EXPECT_FALSE(compare(vector_of<float>({1}, {1}), vector_of<float>({1}, {infinite}), {}).passed());
}

TEST(TensorValues, IntegersMustBeEqual) {
  const Tolerance loose{1, 1000};
  EXPECT_FALSE(compare(vector_of<std::int64_t>({1}, {9007199254740993}),
                       vector_of<std::int64_t>({1}, {9007199254740992}), loose)
                   .passed());
  EXPECT_FALSE(compare(vector_of<std::uint8_t>({1}, {1}, DType::boolean),
                       vector_of<std::uint8_t>({1}, {0}, DType::boolean), loose)
                   .passed());
}

TEST(TensorValues, TypesAndShapesMustBeEqual) {
  EXPECT_EQ(compare(vector_of<float>({2}, {1, 2}), vector_of<float>({1, 2}, {1, 2}), {}).mismatch,
            "is 2 fp32, but 1x2 fp32 was expected");
  EXPECT_FALSE(compare(vector_of<float>({1}, {1}), vector_of<std::int32_t>({1}, {1}), {}).passed());
  EXPECT_TRUE(compare(vector_of<float>({1}, {1}), vector_of<double>({1}, {1}), {}).passed());
}

}  // namespace
}  // namespace headroom::testing
