#pragma once

#include <cmath>
#include <numbers>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Exp {
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return std::exp(x);
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::exp_wide<T>(x);
  }
  template <class T>
  static simd::IntVec<T> is_simple(Vec<T> x) {
    return simd::exp_is_simple<T>(x);
  }
  template <class T>
  static Vec<T> simple(Vec<T> x) {
    return simd::simple_exp<T>(x);
  }
};

struct Log {
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return std::log(x);
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::log<T>(x);
  }
  template <class T>
  static simd::IntVec<T> is_simple(Vec<T> x) {
    return simd::log_is_simple<T>(x);
  }
  template <class T>
  static Vec<T> simple(Vec<T> x) {
    return simd::simple_log<T>(x);
  }
};

struct Sqrt {
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kFromOutput = true;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return std::sqrt(x);
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::sqrt(x);
  }
  template <class T>
  static T slope(T y, const Knobs<T>&) {
    return T(0.5) / y;
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Knobs<T>&) {
    return dy * T(0.5) / y;
  }
};

struct Erf {
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kFromOutput = false;
  static constexpr double kScale = 2 * std::numbers::inv_sqrtpi;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return std::erf(x);
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::erf<T>(x);
  }
  template <class T>
  static T slope(T x, const Knobs<T>&) {
    return static_cast<T>(kScale) * std::exp(-x * x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    return dy * (simd::exp<T>(-x * x) * static_cast<T>(kScale));
  }
};

struct Elu {
  static constexpr double kSpecial = 1, kOther = 2;
  static constexpr bool kFromOutput = true;
  template <class T>
  static T at(T x, const Knobs<T>& k) {
    return x < 0 ? k.a * std::expm1(x) : x;
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return select<T>(x < constant<T>(0), simd::expm1<T>(x) * k.a, x);
  }
  template <class T>
  static T slope(T y, const Knobs<T>& k) {
    return y > 0 ? T{1} : y + k.a;
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Knobs<T>& k) {
    return select<T>(y > constant<T>(0), dy, dy * (y + k.a));
  }
};

// x F(x) with F the distribution of a normal number; the slope is F(x) + x F'(x).
struct Gelu {
  static constexpr double kSpecial = 1, kOther = 3;
  static constexpr bool kFromOutput = false;
  static constexpr double kDensity = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return x * std::erfc(x * static_cast<T>(-std::numbers::sqrt2 / 2)) / 2;
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    // The distribution vanishes before its product with minus infinity does.
    const Vec<T> y = x * simd::normal_cdf<T>(x);
    return select<T>(x < constant<T>(-1e30), constant<T>(0), y);
  }
  template <class T>
  static T slope(T x, const Knobs<T>&) {
    const T below = std::erfc(x * static_cast<T>(-std::numbers::sqrt2 / 2)) / 2;
    return below + x * static_cast<T>(kDensity) * std::exp(-x * x / 2);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> density = simd::exp<T>(x * x * T(-0.5)) * static_cast<T>(kDensity);
    return dy * (simd::normal_cdf<T>(x) + x * density);
  }
};

// x (1 + tanh u) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3), written as x s with s = sigmoid(2 u). With
// e = exp(-|2 u|) nothing overflows, and s (1 - s) = e / (1 + e)^2 loses no digits where s is close to 1.
struct GeluTanh {
  static constexpr double kSpecial = 1, kOther = 7;
  static constexpr bool kFromOutput = false;
  static constexpr double kLine = 1.5957691216057307117;  // 2 sqrt(2/pi)
  static constexpr double kCube = kLine * 0.044715;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    const T e = std::exp(-std::abs(x * (static_cast<T>(kLine) + x * x * static_cast<T>(kCube))));
    return x < 0 ? x * e / (1 + e) : x / (1 + e);
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    const Vec<T> e = simd::exp<T>(-simd::abs<T>(x * (x * x * static_cast<T>(kCube) + static_cast<T>(kLine))));
    const Vec<T> y = select<T>(x < constant<T>(0), x * e, x) / (e + T{1});
    return select<T>(x < constant<T>(-1e30), constant<T>(0), y);  // not infinity times 0
  }
  template <class T>
  static T slope(T x, const Knobs<T>&) {
    const T e = std::exp(-std::abs(x * (static_cast<T>(kLine) + x * x * static_cast<T>(kCube))));
    const T s = (x < 0 ? e : T{1}) / (1 + e),
            inner = static_cast<T>(kLine) + x * x * static_cast<T>(3 * kCube);
    return s + x * inner * e / ((1 + e) * (1 + e));
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> square = x * x, one = constant<T>(1);
    const Vec<T> e =
        simd::exp<T>(-simd::abs<T>(x * (square * static_cast<T>(kCube) + static_cast<T>(kLine))));
    const Vec<T> r = one / (one + e), inner = square * static_cast<T>(3 * kCube) + static_cast<T>(kLine);
    return dy * (select<T>(x < constant<T>(0), e * r, r) + x * inner * (e * r * r));
  }
};

}  // namespace headroom::unary
