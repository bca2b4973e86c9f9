#pragma once

#include <cmath>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Neg {
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return -x;
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return -x;
  }
};

struct Abs {
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kFromOutput = false;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return std::abs(x);
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return simd::abs<T>(x);
  }
  template <class T>
  static T slope(T x, const Knobs<T>&) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : T{0};
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> zero = constant<T>(0);
    return select<T>(x > zero, dy, select<T>(x < zero, -dy, zero));
  }
};

struct LeakyRelu {
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kFromOutput = false;
  template <class T>
  static T at(T x, const Knobs<T>& k) {
    return x < 0 ? k.a * x : x;
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return select<T>(x < constant<T>(0), x * k.a, x);
  }
  template <class T>
  static T slope(T x, const Knobs<T>& k) {
    return x > 0 ? T{1} : k.a;
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>& k) {
    return select<T>(x > constant<T>(0), dy, dy * k.a);
  }
};

struct Clip {
  static constexpr double kSpecial = 0, kOther = 2;
  static constexpr bool kFromOutput = false;
  template <class T>
  static T at(T x, const Knobs<T>& k) {
    const T least = x < k.a ? k.a : x;
    return least > k.b ? k.b : least;
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return simd::clamp<T>(x, k.a, k.b);
  }
  template <class T>
  static T slope(T x, const Knobs<T>& k) {
    return x >= k.a && x <= k.b ? T{1} : T{0};
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>& k) {
    return select<T>((x >= simd::broadcast(k.a)) & (x <= simd::broadcast(k.b)), dy, constant<T>(0));
  }
};

struct HardSigmoid {
  static constexpr double kSpecial = 0, kOther = 4;
  static constexpr bool kFromOutput = true;
  template <class T>
  static T at(T x, const Knobs<T>& k) {
    const T y = k.a * x + k.b;
    return y < 0 ? T{0} : y > 1 ? T{1} : y;
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    return simd::clamp<T>(simd::apart<Vec<T>>(x * k.a) + k.b, T{0}, T{1});
  }
  template <class T>
  static T slope(T y, const Knobs<T>& k) {
    return y > 0 && y < 1 ? k.a : T{0};
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Knobs<T>& k) {
    return select<T>((y > constant<T>(0)) & (y < constant<T>(1)), dy * k.a, constant<T>(0));
  }
};

struct HardSwish {
  static constexpr double kSpecial = 0, kOther = 5;
  static constexpr bool kFromOutput = false;
  template <class T>
  static T at(T x, const Knobs<T>&) {
    return x * HardSigmoid::at<T>(x, {T{1} / T{6}, T(0.5)});
  }
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>&) {
    return x * HardSigmoid::map<T>(x, {T{1} / T{6}, T(0.5)});
  }
  template <class T>
  static T slope(T x, const Knobs<T>&) {
    return x < -3 ? T{0} : x > 3 ? T{1} : x / 3 + T(0.5);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>&) {
    const Vec<T> slope = select<T>(x > constant<T>(3), constant<T>(1), x * (T{1} / T{3}) + T(0.5));
    return dy * select<T>(x < constant<T>(-3), constant<T>(0), slope);
  }
};

}  // namespace headroom::unary
