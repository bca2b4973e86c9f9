#include "ops/cpu/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace headroom {
namespace cpu_moments_test {

// Far from zero by a thousand deviations; the sums of squares alone would lose six digits of the variance.
template <class T>
std::vector<T> far_from_zero(std::size_t n) {
  const Philox random(3);
  std::vector<T> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<T>(1000 + random.normal(i)));
  return x;
}

template <class T>
Moments by_two_walks(const std::vector<T>& x, std::size_t first = 0, std::size_t step = 1) {
  long double sum = 0, squares = 0, n = 0;
  for (std::size_t i = first; i < x.size(); i += step) sum += x[i], n += 1;
  for (std::size_t i = first; i < x.size(); i += step) squares += (x[i] - sum / n) * (x[i] - sum / n);
  return {static_cast<double>(n), static_cast<double>(sum / n), static_cast<double>(squares)};
}

template <class T>
void expect_moments(const Moments& got, const Moments& want) {
  EXPECT_EQ(got.n, want.n);
  EXPECT_NEAR(got.mean, want.mean, 1e-15 * 1000);
  // One walk over fp32 cancels a million times the variance, in fp64; two walks over fp64 cancel nothing.
  EXPECT_NEAR(got.m2, want.m2, (std::is_same_v<T, float> ? 5e-9 * want.n : 1e-13 * want.m2) + 1e-12);
}

template <class T>
class MomentsTest : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MomentsTest, Floats);

TYPED_TEST(MomentsTest, HoldFarFromZeroAtAnyLength) {
  for (std::size_t n : {1u, 2u, 15u, 16u, 17u, 4096u, 4097u, 20000u}) {
    const auto x = far_from_zero<TypeParam>(n);
    expect_moments<TypeParam>(moments(static_cast<std::int64_t>(n), x.data()), by_two_walks(x));
  }
}

TYPED_TEST(MomentsTest, OfColumns) {
  for (std::size_t columns : {1u, 5u, 256u})
    for (std::size_t rows : {1u, 3u, 4u, 128u}) {
      const auto x = far_from_zero<TypeParam>(rows * columns);
      std::vector<Moments> got(columns);
      const auto width = static_cast<std::int64_t>(columns);
      column_moments(static_cast<std::int64_t>(rows), width, width, x.data(), got.data());
      for (std::size_t c = 0; c < columns; ++c)
        expect_moments<TypeParam>(got[c], by_two_walks(x, c, columns));
    }
}

TYPED_TEST(MomentsTest, JoinToThoseOfTheWhole) {
  const auto x = far_from_zero<TypeParam>(1000);
  const std::int64_t cuts[] = {0, 1, 100, 613, 1000};
  const Moments all = join_moments([&](auto&& visit) {
    for (int i = 0; i < 4; ++i) visit(moments(cuts[i + 1] - cuts[i], x.data() + cuts[i]));
  });
  expect_moments<TypeParam>(all, by_two_walks(x));
}

TYPED_TEST(MomentsTest, AConstantHasNoVarianceAndNanShows) {
  std::vector<TypeParam> x(5000, TypeParam(0.1));
  EXPECT_NEAR(moments(5000, x.data()).m2, 0, 1e-10);
  EXPECT_GE(moments(5000, x.data()).m2, 0);
  x[4321] = std::nanf("");
  EXPECT_TRUE(std::isnan(moments(5000, x.data()).mean));
  EXPECT_TRUE(std::isnan(moments(5000, x.data()).m2));
}

TEST(Split, KeepsWhatRoundingLoses) {
  const Split<float> third(1000.0 / 3);
  EXPECT_EQ(third.high, static_cast<float>(1000.0 / 3));
  EXPECT_NEAR(double{third.high} + double{third.low}, 1000.0 / 3, 1e-12);
  EXPECT_EQ(Split<double>(1000.0 / 3).low, 0);
}

}  // namespace cpu_moments_test
}  // namespace headroom
