#pragma once

// The definitions, one element at a time: what references and GPU kernels call. Vectors of the CPU are in
// piecewise.h and smooth.h. Each is a struct with
//   kSpecial, kOther   operations per element, for the cost
//   kFromOutput        does the slope take y instead of x?
//   at, slope          the function and its derivative
// A gradient that is made of other operators has no slope.

#include <cmath>

#include "base/host_device.h"

namespace headroom {

// alpha and beta, the bounds of clip, or threshold and value.
template <class T>
struct Knobs {
  T a, b;
};

namespace unary::scalar {

struct Neg {
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return -x;
  }
};

struct Abs {
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::abs(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : T{0};
  }
};

struct LeakyRelu {
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>& k) {
    return x < 0 ? k.a * x : x;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>& k) {
    return x > 0 ? T{1} : k.a;
  }
};

struct Clip {
  static constexpr double kSpecial = 0, kOther = 2;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>& k) {
    const T least = x < k.a ? k.a : x;
    return least > k.b ? k.b : least;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>& k) {
    return x >= k.a && x <= k.b ? T{1} : T{0};
  }
};

struct Threshold {
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>& k) {
    return x <= k.a ? k.b : x;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>& k) {
    return x <= k.a ? T{0} : T{1};
  }
};

struct HardSigmoid {
  static constexpr double kSpecial = 0, kOther = 4;
  static constexpr bool kFromOutput = true;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>& k) {
    const T y = k.a * x + k.b;
    return y < 0 ? T{0} : y > 1 ? T{1} : y;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y, const Knobs<T>& k) {
    return y > 0 && y < 1 ? k.a : T{0};
  }
};

struct HardSwish {
  static constexpr double kSpecial = 0, kOther = 5;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return x * HardSigmoid::at<T>(x, {T{1} / T{6}, T(0.5)});
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    return x < -3 ? T{0} : x > 3 ? T{1} : x / 3 + T(0.5);
  }
};

struct Exp {
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::exp(x);
  }
};

struct Log {
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::log(x);
  }
};

struct Sqrt {
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kFromOutput = true;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::sqrt(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y, const Knobs<T>&) {
    return T(0.5) / y;
  }
};

struct Erf {
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kFromOutput = false;
  static constexpr double kScale = 1.12837916709551257390;  // 2 / sqrt(pi)
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::erf(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    return static_cast<T>(kScale) * std::exp(-x * x);
  }
};

struct Elu {
  static constexpr double kSpecial = 1, kOther = 2;
  static constexpr bool kFromOutput = true;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>& k) {
    return x < 0 ? k.a * std::expm1(x) : x;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y, const Knobs<T>& k) {
    return y > 0 ? T{1} : y + k.a;
  }
};

// x F(x) with F the distribution of a normal number; the slope is F(x) + x F'(x).
struct Gelu {
  static constexpr double kSpecial = 1, kOther = 3;
  static constexpr bool kFromOutput = false;
  static constexpr double kRoot = 0.70710678118654752440;     // 1 / sqrt(2)
  static constexpr double kDensity = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return x * std::erfc(x * static_cast<T>(-kRoot)) / 2;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    const T below = std::erfc(x * static_cast<T>(-kRoot)) / 2;
    return below + x * static_cast<T>(kDensity) * std::exp(-x * x / 2);
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
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    const T e = std::exp(-std::abs(x * (static_cast<T>(kLine) + x * x * static_cast<T>(kCube))));
    return x < 0 ? x * e / (1 + e) : x / (1 + e);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    const T e = std::exp(-std::abs(x * (static_cast<T>(kLine) + x * x * static_cast<T>(kCube))));
    const T s = (x < 0 ? e : T{1}) / (1 + e),
            inner = static_cast<T>(kLine) + x * x * static_cast<T>(3 * kCube);
    return s + x * inner * e / ((1 + e) * (1 + e));
  }
};

struct Floor {
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::floor(x);
  }
};

struct Ceil {
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::ceil(x);
  }
};

// Halves to the even neighbour.
struct Round {
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::rint(x);
  }
};

struct Sign {
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  }
};

struct Sin {
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::sin(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    return std::cos(x);
  }
};

struct Cos {
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return std::cos(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    return -std::sin(x);
  }
};

// log(1 + e^x), written so that nothing overflows.
struct Softplus {
  static constexpr double kSpecial = 2, kOther = 3;
  static constexpr bool kFromOutput = false;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Knobs<T>&) {
    return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::abs(x))) + (x != x ? x : T{0});
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Knobs<T>&) {
    const T e = std::exp(-std::abs(x));
    return (x < 0 ? e : T{1}) / (1 + e);
  }
};

}  // namespace unary::scalar
}  // namespace headroom
