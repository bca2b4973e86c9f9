// Accuracy of the vector functions, in units in the last place, against the library in a wider type.
#include "ops/cpu/vmath.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "ops/cpu/vector_erf.h"

namespace headroom::simd {
namespace cpu_vmath_test {

template <class T, class F>
T one(F&& f, T x) {
  return f(broadcast(x))[0];
}

// Error in units of the last place of `want`, or of 1 where the function is only right to a rounding of 1.
template <class T>
double ulps(T got, long double want, bool absolute = false) {
  if (std::isinf(got) && std::isinf(static_cast<T>(want))) return got == static_cast<T>(want) ? 0 : INFINITY;
  const T size = absolute ? T{1} : std::max(std::abs(static_cast<T>(want)), std::numeric_limits<T>::min());
  const long double unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

// The worst of many random points between low and high.
template <class T, class F, class G>
double worst(F&& f, G&& want, double low, double high, bool absolute = false) {
  double most = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const T x = static_cast<T>(low + (high - low) * Philox(3).uniform(i));
    most = std::max(most, ulps<T>(one(f, x), want(static_cast<long double>(x)), absolute));
  }
  return most;
}

template <class T>
class VectorMath : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(VectorMath, Floats);

constexpr auto kExp = [](long double x) { return std::exp(x); };
constexpr auto kLog = [](long double x) { return std::log(x); };

TYPED_TEST(VectorMath, ExpIsRightToTwoUnitsOverItsWholeRange) {
  using T = TypeParam;
  const auto f = [](Vec<T> x) { return exp_wide<T>(x); };
  const double end = std::log(double{std::numeric_limits<T>::max()});
  EXPECT_LE(worst<T>(f, kExp, -1, 1), 2);
  EXPECT_LE(worst<T>(f, kExp, -end + 2, end), 2);
  EXPECT_LE(worst<T>(f, kExp, -end - 20, -end), 2) << "denormals";
  const T infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(one(f, infinity), infinity);
  EXPECT_EQ(one(f, static_cast<T>(end * 1.001)), infinity);
  EXPECT_EQ(one(f, -infinity), T{0});
  EXPECT_EQ(one(f, T{0}), T{1});
  EXPECT_TRUE(std::isnan(one(f, static_cast<T>(NAN))));
}

TYPED_TEST(VectorMath, SimpleArgumentsNeedNoCare) {
  using T = TypeParam;
  const auto exponential = [](Vec<T> x) { return simple_exp<T>(x); };
  const auto logarithm = [](Vec<T> x) { return simple_log<T>(x); };
  const double end = double{ExpConstants<T>::kHighest} - 1;
  EXPECT_LE(worst<T>(exponential, kExp, -end, end), 2);
  EXPECT_LE(worst<T>(logarithm, kLog, 1e-3, 1e4), 3);
  const auto is = [](auto simple, T x) { return all_true(simple(broadcast(x))); };
  const auto exp_ok = [](Vec<T> x) { return exp_is_simple<T>(x); };
  const auto log_ok = [](Vec<T> x) { return log_is_simple<T>(x); };
  const T infinity = std::numeric_limits<T>::infinity(), tiny = std::numeric_limits<T>::min();
  for (T x : {T{0}, T{1}, T{-80}}) EXPECT_TRUE(is(exp_ok, x)) << x;
  for (T x : {infinity, -infinity, static_cast<T>(NAN), T{1000}, T{-1000}}) EXPECT_FALSE(is(exp_ok, x)) << x;
  for (T x : {tiny, T{1}, std::numeric_limits<T>::max()}) EXPECT_TRUE(is(log_ok, x)) << x;
  for (T x : {T{0}, T{-1}, infinity, static_cast<T>(NAN), tiny / 2}) EXPECT_FALSE(is(log_ok, x)) << x;
}

TYPED_TEST(VectorMath, ExpVanishesBelowItsRange) {
  using T = TypeParam;
  const auto f = [](Vec<T> x) { return exp<T>(x); };
  EXPECT_LE(worst<T>(f, kExp, -80, 80), 2);
  EXPECT_EQ(one(f, -std::numeric_limits<T>::infinity()), T{0});
  EXPECT_EQ(one(f, T{-1000}), T{0});
  EXPECT_EQ(one(f, T{0}), T{1});
  EXPECT_TRUE(std::isfinite(one(f, T{1000})));
  for (double sign : {1.0, -1.0})
    EXPECT_TRUE(std::isnan(one(f, std::copysign(static_cast<T>(NAN), T(sign)))));
}

TYPED_TEST(VectorMath, CutKeepsNanAndLetsTheUpperBoundWin) {
  using T = TypeParam;
  const auto f = [](T x, T low, T high) { return cut(broadcast(x), broadcast(low), broadcast(high))[0]; };
  EXPECT_EQ(f(T{-2}, T{-1}, T{1}), T{-1});
  EXPECT_EQ(f(T{2}, T{-1}, T{1}), T{1});
  EXPECT_EQ(f(T(0.5), T{-1}, T{1}), T(0.5));
  EXPECT_EQ(f(T{2}, T{1}, T{0}), T{0});
  EXPECT_TRUE(std::isnan(f(static_cast<T>(NAN), T{-1}, T{1})));
}

TYPED_TEST(VectorMath, Expm1KeepsSmallNumbers) {
  using T = TypeParam;
  const auto f = [](Vec<T> x) { return expm1<T>(x); };
  const auto want = [](long double x) { return std::expm1(x); };
  EXPECT_LE(worst<T>(f, want, -1e-3, 1e-3), 2);
  EXPECT_LE(worst<T>(f, want, -30, 30), 3);
  EXPECT_EQ(one(f, T{-1000}), T{-1});
}

TYPED_TEST(VectorMath, LogIsRightToThreeUnits) {
  using T = TypeParam;
  const auto f = [](Vec<T> x) { return log<T>(x); };
  EXPECT_LE(worst<T>(f, kLog, 0.5, 2), 3);
  EXPECT_LE(worst<T>(f, kLog, 1e-3, 1e4), 3);
  EXPECT_LE(worst<T>(f, kLog, 0, double{std::numeric_limits<T>::min()}), 3) << "denormals";
  const T infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(one(f, infinity), infinity);
  EXPECT_EQ(one(f, T{0}), -infinity);
  EXPECT_EQ(one(f, -T{0}), -infinity);
  EXPECT_EQ(one(f, T{1}), T{0});
  EXPECT_TRUE(std::isnan(one(f, T{-1})));
  EXPECT_TRUE(std::isnan(one(f, static_cast<T>(NAN))));
}

TYPED_TEST(VectorMath, ErfAndItsDistributionAreRightToTwoUnitsOfOne) {
  using T = TypeParam;
  const auto f = [](Vec<T> x) { return erf<T>(x); };
  const auto cdf = [](Vec<T> x) { return normal_cdf<T>(x); };
  EXPECT_LE(worst<T>(
                f, [](long double x) { return std::erf(x); }, -1, 1),
            4)
      << "relative near 0";
  EXPECT_LE(worst<T>(
                f, [](long double x) { return std::erf(x); }, -8, 8, true),
            1.5);
  const auto normal = [](long double x) { return std::erfc(-x * std::sqrt(0.5L)) / 2; };
  EXPECT_LE(worst<T>(cdf, normal, -12, 12, true), 2);
  EXPECT_EQ(one(f, std::numeric_limits<T>::infinity()), T{1});
  EXPECT_EQ(one(f, -std::numeric_limits<T>::infinity()), T{-1});
  EXPECT_EQ(one(f, T{0}), T{0});
  EXPECT_TRUE(std::isnan(one(f, static_cast<T>(NAN))));
  EXPECT_EQ(one(cdf, T{-100}), T{0});
}

}  // namespace cpu_vmath_test
}  // namespace headroom::simd
