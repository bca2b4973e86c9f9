#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

TEST(Half, EveryNumberOfTheFormatComesBack) {
  for (DType dtype : {DType::f16, DType::bf16})
    for (int bits = 0; bits < 0x10000; ++bits) {
      const double value = half_value(dtype, static_cast<std::uint16_t>(bits));
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(half_value(dtype, half_bits(dtype, value))));
      else
        ASSERT_EQ(half_bits(dtype, value), bits) << value;
    }
}

TEST(Half, KnownNumbers) {
  EXPECT_EQ(half_bits(DType::f16, 1), 0x3C00);
  EXPECT_EQ(half_bits(DType::f16, -2), 0xC000);
  EXPECT_EQ(half_bits(DType::f16, 65504), 0x7BFF);
  EXPECT_EQ(half_bits(DType::f16, 65520), 0x7C00);  // halfway to the next value, out of range: infinite
  EXPECT_EQ(half_bits(DType::f16, std::ldexp(1, -24)), 0x0001);
  EXPECT_EQ(half_bits(DType::f16, std::ldexp(1, -25)), 0x0000);  // ties to even
  EXPECT_EQ(half_bits(DType::bf16, 1), 0x3F80);
  EXPECT_EQ(half_bits(DType::bf16, 3.140625), 0x4049);
}

TEST(Half, RoundsToTheNearerNeighbourAndTiesToEven) {
  for (DType dtype : {DType::f16, DType::bf16})
    for (int bits = 1; bits < (dtype == DType::f16 ? 0x7BFF : 0x7F7F); ++bits) {
      const double low = half_value(dtype, static_cast<std::uint16_t>(bits)),
                   high = half_value(dtype, static_cast<std::uint16_t>(bits + 1));
      ASSERT_EQ(half_bits(dtype, low + 0.49 * (high - low)), bits);
      ASSERT_EQ(half_bits(dtype, low + 0.51 * (high - low)), bits + 1);
      ASSERT_EQ(half_bits(dtype, low + 0.5 * (high - low)), bits + (bits & 1));
    }
}

}  // namespace
}  // namespace headroom
