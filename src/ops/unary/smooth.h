#pragma once

#include "ops/unary/function.h"

namespace headroom::unary {

struct Exp : scalar::Exp {
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

struct Log : scalar::Log {
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

struct Sqrt : scalar::Sqrt {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::sqrt(x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Knobs<T>&) {
    return dy * T(0.5) / y;
  }
};

struct Erf : scalar::Erf {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::erf<T>(x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    return dy * (simd::exp<T>(-x * x) * static_cast<T>(kScale));
  }
};

struct Elu : scalar::Elu {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return select<T>(x < constant<T>(0), simd::expm1<T>(x) * k.a, x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Knobs<T>& k) {
    return select<T>(y > constant<T>(0), dy, dy * (y + k.a));
  }
};

struct Gelu : scalar::Gelu {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    // The distribution vanishes before its product with minus infinity does.
    const Vec<T> y = x * simd::normal_cdf<T>(x);
    return select<T>(x < constant<T>(-1e30), constant<T>(0), y);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> density = simd::exp<T>(x * x * T(-0.5)) * static_cast<T>(kDensity);
    return dy * (simd::normal_cdf<T>(x) + x * density);
  }
};

struct GeluTanh : scalar::GeluTanh {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    const Vec<T> e = simd::exp<T>(-simd::abs<T>(x * (x * x * static_cast<T>(kCube) + static_cast<T>(kLine))));
    const Vec<T> y = select<T>(x < constant<T>(0), x * e, x) / (e + T{1});
    return select<T>(x < constant<T>(-1e30), constant<T>(0), y);  // not infinity times 0
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
