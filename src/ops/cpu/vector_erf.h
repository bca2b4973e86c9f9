#pragma once

// The error function and the normal distribution on short vectors. Near 0 a polynomial in x^2; further out
// erfc(t) = exp(p(t)), with p fitted to the logarithm. The polynomials are least-squares fits made with 50
// digits; the weights make the absolute error of erf even, and smaller than a rounding.

#include "ops/cpu/vmath.h"

namespace headroom::simd {

template <class T>
struct ErfConstants;

template <>
struct ErfConstants<float> {
  // erf(x) / x in powers of x^2 on [0, 1], within 1.3e-9.
  static constexpr std::array<float, 7> kNear = {1.12837917f,    -0.376126269f,  0.112835975f,
                                                 -0.0268543288f, 0.00518931194f, -0.000801885499f,
                                                 7.88249711e-5f};
  // log erfc(t) in powers of t - kCentre on [kFrom, kTo]; erfc is then right within 2.3e-9.
  static constexpr std::array<float, 10> kFar = {
      1.97657987e-9f, -1.1283794f,    -0.63661549f,    -0.10280172f,     0.0192224801f,
      5.23455694e-5f, -0.0015722413f, 0.000586139896f, -0.000105647347f, 8.01208464e-6f};
  static constexpr float kCentre = 0, kFrom = 0, kTo = 4.2f;
};

template <>
struct ErfConstants<double> {
  static constexpr std::array<double, 12> kNear = {
      // within 8e-18
      1.12837916709551257,    -0.376126389031835435,    0.112837916709451297,    -0.0268661706432569943,
      0.00522397760726994529, -0.000854832598254322506, 0.000120552951126670011, -0.000014924740785377575,
      1.64474711905946181e-6, -1.62088298568102008e-7,  1.37215204063510944e-8,  -7.7985438505499469e-10};
  static constexpr std::array<double, 19> kFar = {
      // within 1.3e-18
      -10.7203630419811268,     -6.30375368900389988,     -0.957394218804124597,    -0.00741189178943658548,
      0.00135331049218266809,   -0.000245692054942769912, 0.0000430816917988025941, -7.11585620000596183e-6,
      1.0690917441806039e-6,    -1.35910218475446879e-7,  1.20557909780840419e-8,   9.18095630598739706e-10,
      -7.73817586896948093e-10, -5.64325576322574615e-11, -1.31925561498299178e-10, 2.67230423608721177e-11,
      2.39884447347543444e-11,  8.49008148706853501e-12,  1.03052677657354827e-12};
  static constexpr double kCentre = 3, kFrom = 1, kTo = 6;
};

// erf(x) for |x| <= 1.
template <class T>
inline Vec<T> erf_near(Vec<T> x) {
  return x * polynomial<T>(ErfConstants<T>::kNear, x * x);
}

// erfc(t) for t >= kFrom, below that something finite or not; past kTo, where it is less than a rounding of
// 1, it is 0.
template <class T>
inline Vec<T> erfc_far(Vec<T> t) {
  using E = ErfConstants<T>;
  const Vec<T> end = broadcast(E::kTo);
  Vec<T> scale, p;  // the logarithm lies between -40 and 0: no need of exp's care for its ends
  exp_parts<T>(polynomial<T>(E::kFar, (t > end ? end : t) - E::kCentre), scale, p);
  const Vec<T> y = p * scale + scale;
  return t > end ? broadcast<T>(0) : y;
}

template <class T>
inline Vec<T> erf(Vec<T> x) {
  const Vec<T> t = abs<T>(x), one = broadcast<T>(1);
  const Vec<T> far = one - erfc_far<T>(t);
  return t < one ? erf_near<T>(x) : x < broadcast<T>(0) ? -far : far;
}

// Probability of a normal number below x: erfc(-x / sqrt 2) / 2, within a rounding of 1.
template <class T>
inline Vec<T> normal_cdf(Vec<T> x) {
  const Vec<T> t = abs<T>(x) * static_cast<T>(0.70710678118654752440);
  Vec<T> below = erfc_far<T>(t) * T(0.5);
  if constexpr (ErfConstants<T>::kFrom > 0)
    below = t < broadcast(ErfConstants<T>::kFrom) ? T(0.5) - erf_near<T>(t) * T(0.5) : below;
  return x < broadcast<T>(0) ? below : T{1} - below;
}

}  // namespace headroom::simd
