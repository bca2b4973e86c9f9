#pragma once

#include "ops/unary/function.h"

namespace headroom::unary {

struct Neg : scalar::Neg {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return -x;
  }
};

struct Abs : scalar::Abs {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::abs<T>(x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> zero = constant<T>(0);
    return select<T>(x > zero, dy, select<T>(x < zero, -dy, zero));
  }
};

struct LeakyRelu : scalar::LeakyRelu {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return select<T>(x < constant<T>(0), x * k.a, x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>& k) {
    return select<T>(x > constant<T>(0), dy, dy * k.a);
  }
};

struct Clip : scalar::Clip {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return simd::clamp<T>(x, k.a, k.b);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>& k) {
    return select<T>((x >= simd::broadcast(k.a)) & (x <= simd::broadcast(k.b)), dy, constant<T>(0));
  }
};

struct Threshold : scalar::Threshold {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return select<T>(x <= simd::broadcast(k.a), simd::broadcast(k.b), x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>& k) {
    return select<T>(x <= simd::broadcast(k.a), constant<T>(0), dy);
  }
};

struct HardSigmoid : scalar::HardSigmoid {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return simd::clamp<T>(simd::apart<Vec<T>>(x * k.a) + k.b, T{0}, T{1});
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Knobs<T>& k) {
    return select<T>((y > constant<T>(0)) & (y < constant<T>(1)), dy * k.a, constant<T>(0));
  }
};

struct HardSwish : scalar::HardSwish {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return x * HardSigmoid::map<T>(x, {T{1} / T{6}, T(0.5)});
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> slope = select<T>(x > constant<T>(3), constant<T>(1), x * (T{1} / T{3}) + T(0.5));
    return dy * select<T>(x < constant<T>(-3), constant<T>(0), slope);
  }
};

}  // namespace headroom::unary
