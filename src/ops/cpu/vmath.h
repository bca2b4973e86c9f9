#pragma once

// exp, log, tanh and sigmoid on short vectors, within a few units in the last place of the exact result.
// exp: x = n ln2 + r with |r| <= ln2/2, a polynomial for exp(r)-1, scaled by 2^n.
// log: x = 2^n m with m around 1, the series in (m-1)/(m+1).

#include <array>
#include <limits>

#include "ops/cpu/simd.h"

namespace headroom::simd {

template <class T>
struct ExpConstants;

// Adding kRound rounds to the nearest integer and leaves it, with the exponent's bias, in the lowest bits. At
// kLowest the sum of both is 0, and 2^n with it.
template <>
struct ExpConstants<float> {
  static constexpr int kTerms = 6, kMantissa = 23, kBias = 127;
  static constexpr float kRound = 12582912.0f + kBias;  // 1.5 * 2^23
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  static constexpr float kLowest = -88.0f, kHighest = 88.0f;
};

template <>
struct ExpConstants<double> {
  static constexpr int kTerms = 14, kMantissa = 52, kBias = 1023;
  static constexpr double kRound = 6755399441055744.0 + kBias;  // 1.5 * 2^52
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kLowest = -709.0, kHighest = 709.0;
};

// part[0] + part[1] x + part[2] x^2 + …, neighbours first.
template <class T, std::size_t Parts>
inline Vec<T> joined(Vec<T>* part, Vec<T> x) {
  if constexpr (Parts == 1) {
    return part[0];
  } else {
    for (std::size_t k = 0; k < Parts / 2; ++k) part[k] = part[2 * k + 1] * x + part[2 * k];
    if constexpr (Parts % 2 == 1) part[Parts / 2] = part[Parts - 1];
    return joined<T, (Parts + 1) / 2>(part, x * x);
  }
}

// c[0] + c[1] x + …, in pairs, then pairs of pairs: these functions are one long chain of dependent
// operations, and its length matters more than their number. Against Horner's rule on a Neoverse V1, in
// cache: exp 1.48 instead of 1.66 ns for an fp32 element, gelu 3.9 instead of 5.5.
template <class T, std::size_t N>
inline Vec<T> polynomial(const std::array<T, N>& c, Vec<T> x) {
  Vec<T> part[(N + 1) / 2];
  for (std::size_t k = 0; k < N / 2; ++k) part[k] = x * c[2 * k + 1] + c[2 * k];
  if constexpr (N % 2 == 1) part[N / 2] = broadcast<T>(c[N - 1]);
  return joined<T, (N + 1) / 2>(part, x * x);
}

// (exp(r) - 1 - r) / r^2: the series 1/2! + r/3! + … to 1/kTerms!. In fp32 a fit of as many terms less one,
// which errs by 1e-8 of exp(r).
template <class T>
inline constexpr auto kExpTail = [] {
  std::array<T, ExpConstants<T>::kTerms - 1> c{};
  double factorial = 1;
  for (std::size_t k = 0; k < c.size(); ++k) {
    factorial *= static_cast<double>(k + 2);
    c[k] = static_cast<T>(1 / factorial);
  }
  return c;
}();
template <>
inline constexpr std::array<float, 5> kExpTail<float> = {0.5f, 0.16666577f, 0.04166655463f, 0.00836317763f,
                                                         0.001392618181f};

// Splits exp(x) into 2^n and exp(r)-1. NaN passes through; x must lie within [kLowest, kHighest].
template <class T>
inline void exp_parts(Vec<T> x, Vec<T>& scale, Vec<T>& expm1_r) {
  using C = ExpConstants<T>;
  const Vec<T> shifted = x * static_cast<T>(1.44269504088896340736) + C::kRound;
  const Vec<T> n = shifted - C::kRound;
  const Vec<T> r = (x - n * C::kLn2High) - n * C::kLn2Low;

  expm1_r = r + r * r * polynomial<T>(kExpTail<T>, r);
  scale = from_bits<T>(bits_of<T>(shifted) << C::kMantissa);
}

template <class T>
inline Vec<T> clamp(Vec<T> x, T low, T high) {
  return cut(x, broadcast(low), broadcast(high));
}

// 0 below kLowest, finite above kHighest.
template <class T>
inline Vec<T> exp(Vec<T> x) {
  Vec<T> scale, p;
  exp_parts<T>(clamp<T>(x, ExpConstants<T>::kLowest, ExpConstants<T>::kHighest), scale, p);
  return p * scale + scale;
}

// exp(x) - 1, exact also where x is small. Below kLowest it is -1, above kHighest it stays finite.
template <class T>
inline Vec<T> expm1(Vec<T> x) {
  Vec<T> scale, p;
  exp_parts<T>(clamp<T>(x, ExpConstants<T>::kLowest, ExpConstants<T>::kHighest), scale, p);
  return p * scale + (scale - T{1});
}

// Is exp(x) far from overflow and from denormals?
template <class T>
inline IntVec<T> exp_is_simple(Vec<T> x) {
  return abs<T>(x) < broadcast(ExpConstants<T>::kHighest - T{1});
}
template <class T>
inline Vec<T> simple_exp(Vec<T> x) {
  Vec<T> scale, p;
  exp_parts<T>(x, scale, p);
  return p * scale + scale;
}

// exp over the whole range of T: infinity where it overflows, denormals before it vanishes. The power of two
// is applied in two halves, since 2^n itself may be out of range.
template <class T>
inline Vec<T> exp_wide(Vec<T> x) {
  using C = ExpConstants<T>;
  Vec<T> scale, p;
  const Vec<T> inside = clamp<T>(x, C::kLowest * T(1.25), C::kHighest * T(1.25));
  const Vec<T> shifted = inside * static_cast<T>(1.44269504088896340736) + C::kRound;
  const IntVec<T> n = bits_of<T>(shifted) - bits_of<T>(broadcast<T>(C::kRound));
  const IntVec<T> half = n >> 1, rest = n - half;
  exp_parts<T>(inside, scale, p);  // its scale may have wrapped around: not used
  const Vec<T> first = from_bits<T>((half + static_cast<IntOf<T>>(C::kBias)) << C::kMantissa);
  const Vec<T> second = from_bits<T>((rest + static_cast<IntOf<T>>(C::kBias)) << C::kMantissa);
  return (p * first + first) * second;
}

template <class T>
struct LogConstants;
template <>
struct LogConstants<float> {
  static constexpr std::int32_t kRootHalf = 0x3F3504F3;  // bits of sqrt(1/2)
  static constexpr float kSmallest = 1.17549435e-38f, kGrow = 8388608.0f;
  static constexpr int kTerms = 4, kGrowBits = 23;
};
template <>
struct LogConstants<double> {
  static constexpr std::int64_t kRootHalf = 0x3FE6A09E667F3BCD;
  static constexpr double kSmallest = 2.2250738585072014e-308, kGrow = 4503599627370496.0;
  static constexpr int kTerms = 11, kGrowBits = 52;
};

// 2/3, 2/5, … for kTerms terms.
template <class T>
inline constexpr auto kOddInverses = [] {
  std::array<T, LogConstants<T>::kTerms> c{};
  for (std::size_t k = 0; k < c.size(); ++k) c[k] = T{2} / static_cast<T>(2 * k + 3);
  return c;
}();

// Is x positive, finite and no denormal?
template <class T>
inline IntVec<T> log_is_simple(Vec<T> x) {
  return (x >= broadcast(LogConstants<T>::kSmallest)) & (x <= broadcast(std::numeric_limits<T>::max()));
}

// Of such numbers, times 2^-grown.
template <class T>
inline Vec<T> simple_log(Vec<T> x, IntVec<T> grown = IntVec<T>{}) {
  using C = ExpConstants<T>;
  using L = LogConstants<T>;
  const IntVec<T> bits = bits_of<T>(x);
  const IntVec<T> n = (bits - L::kRootHalf) >> C::kMantissa;
  const Vec<T> m = from_bits<T>(bits - (n << C::kMantissa));
  // n as a float, by the bits of kRound + n: no instruction converts 64-bit integers everywhere.
  const Vec<T> e = from_bits<T>(n - grown + bits_of<T>(broadcast<T>(C::kRound))) - C::kRound;

  const Vec<T> s = (m - T{1}) / (m + T{1}), square = s * s;
  const Vec<T> p = square * polynomial<T>(kOddInverses<T>, square);  // 2 (s^2/3 + s^4/5 + …)
  return e * C::kLn2High + (s * T{2} + (s * p + e * C::kLn2Low));
}

// Natural logarithm: -infinity of 0, NaN of negative numbers.
template <class T>
inline Vec<T> log(Vec<T> x) {
  using L = LogConstants<T>;
  const IntVec<T> denormal = x < broadcast(L::kSmallest);
  const Vec<T> y = simple_log<T>(denormal ? x * L::kGrow : x, denormal & static_cast<IntOf<T>>(L::kGrowBits));
  const Vec<T> zero = broadcast<T>(0), infinity = broadcast<T>(std::numeric_limits<T>::infinity());
  const Vec<T> edge = x == zero ? -infinity : x < zero ? zero / zero : x;
  return (x > zero) & (x < infinity) ? y : edge;
}

template <class T>
inline Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> one = broadcast<T>(1);
  return one / (one + exp<T>(-x));
}

// From exp(2x)-1, which keeps small x exact.
template <class T>
inline Vec<T> tanh(Vec<T> x) {
  Vec<T> scale, p;
  exp_parts<T>(clamp<T>(x + x, T{-40}, T{40}), scale, p);
  const Vec<T> m = p * scale + (scale - T{1});
  return m / (m + T{2});
}

}  // namespace headroom::simd
