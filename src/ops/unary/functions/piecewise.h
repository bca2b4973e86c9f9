#pragma once

// Functions of straight pieces. At a kink the slope is PyTorch's.

#include <cmath>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Neg : Function {
  static constexpr std::string_view kName = "neg", kOnnx = "Neg";
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kExact = true;
  static constexpr GradientOperator kGradient = {"neg"};
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return -x;
  }
};

struct Abs : Function {
  static constexpr std::string_view kName = "abs", kOnnx = "Abs";
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::abs(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : T{0};
  }
};

// x < 0 ? alpha x : x; the slope at 0 is alpha.
struct LeakyRelu : Function {
  static constexpr std::string_view kName = "leaky_relu", kOnnx = "LeakyRelu";
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr bool kActivation = true;
  static constexpr std::array kAttributes = {Attribute{"alpha", 0.01}};
  static constexpr std::array kTrials = {Trial{{"alpha", 0.25}}};
  template <class T>
  struct Parameters {
    T alpha;
  };
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Parameters<T>& p) {
    return x < 0 ? p.alpha * x : x;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Parameters<T>& p) {
    return x > 0 ? T{1} : p.alpha;
  }
};

// Either bound may be absent. Where min > max the result is max. The slope at a bound is 1. Readers and
// writers of ONNX files know it by name: there the bounds are inputs.
struct Clip : Function {
  static constexpr std::string_view kName = "clip";
  static constexpr double kSpecial = 0, kOther = 2;
  static constexpr std::array kAttributes = {Attribute{"min", -std::numeric_limits<double>::infinity()},
                                             Attribute{"max", std::numeric_limits<double>::infinity()}};
  static constexpr std::array kTrials = {Trial{{"min", -0.5}, {"max", 0.75}}, Trial{{"min", 0.0}}};
  template <class T>
  struct Parameters {
    T min, max;
  };
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Parameters<T>& p) {
    const T least = x < p.min ? p.min : x;
    return least > p.max ? p.max : least;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Parameters<T>& p) {
    return x >= p.min && x <= p.max ? T{1} : T{0};
  }
};

// x <= threshold ? value : x. This is Torch's; ONNX has no such operator.
struct Threshold : Function {
  static constexpr std::string_view kName = "threshold";
  static constexpr double kSpecial = 0, kOther = 1;
  static constexpr std::array kAttributes = {Attribute{"threshold", 0}, Attribute{"value", 0}};
  static constexpr std::array kTrials = {Trial{{"threshold", 0.25}, {"value", -2.0}}};
  template <class T>
  struct Parameters {
    T threshold, value;
  };
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Parameters<T>& p) {
    return x <= p.threshold ? p.value : x;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x, const Parameters<T>& p) {
    return x <= p.threshold ? T{0} : T{1};
  }
};

// alpha x + beta, cut to [0, 1]. The slope is 0 where the function saturates.
struct HardSigmoid : Function {
  static constexpr std::string_view kName = "hard_sigmoid", kOnnx = "HardSigmoid";
  static constexpr double kSpecial = 0, kOther = 4;
  static constexpr bool kSlopeFromOutput = true;
  static constexpr std::array kAttributes = {Attribute{"alpha", 0.2}, Attribute{"beta", 0.5}};
  static constexpr std::array kTrials = {Trial{{"alpha", 0.5}, {"beta", 0.25}}};
  template <class T>
  struct Parameters {
    T alpha, beta;
  };
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Parameters<T>& p) {
    const T y = p.alpha * x + p.beta;
    return y < 0 ? T{0} : y > 1 ? T{1} : y;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y, const Parameters<T>& p) {
    return y > 0 && y < 1 ? p.alpha : T{0};
  }
};

// x (x / 6 + 1/2, cut to [0, 1])
struct HardSwish : Function {
  static constexpr std::string_view kName = "hard_swish", kOnnx = "HardSwish";
  static constexpr double kSpecial = 0, kOther = 5;
  static constexpr bool kActivation = true;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return x * HardSigmoid::at<T>(x, {T{1} / T{6}, T(0.5)});
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return x < -3 ? T{0} : x > 3 ? T{1} : x / 3 + T(0.5);
  }
};

using PiecewiseFunctions = TypeList<Neg, Abs, LeakyRelu, Clip, Threshold, HardSigmoid, HardSwish>;

#ifndef __CUDACC__

template <>
struct VectorForm<Neg> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
    return -x;
  }
};

template <>
struct VectorForm<Abs> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
    return simd::abs<T>(x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x) {
    const Vec<T> zero = constant<T>(0);
    return select<T>(x > zero, dy, select<T>(x < zero, -dy, zero));
  }
};

template <>
struct VectorForm<LeakyRelu> {
  template <class T>
  static Vec<T> map(Vec<T> x, const LeakyRelu::Parameters<T>& p) {
    return select<T>(x < constant<T>(0), x * p.alpha, x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const LeakyRelu::Parameters<T>& p) {
    return select<T>(x > constant<T>(0), dy, dy * p.alpha);
  }
};

template <>
struct VectorForm<Clip> {
  template <class T>
  static Vec<T> map(Vec<T> x, const Clip::Parameters<T>& p) {
    return simd::clamp<T>(x, p.min, p.max);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Clip::Parameters<T>& p) {
    return select<T>((x >= simd::broadcast(p.min)) & (x <= simd::broadcast(p.max)), dy, constant<T>(0));
  }
};

template <>
struct VectorForm<Threshold> {
  template <class T>
  static Vec<T> map(Vec<T> x, const Threshold::Parameters<T>& p) {
    return select<T>(x <= simd::broadcast(p.threshold), simd::broadcast(p.value), x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Threshold::Parameters<T>& p) {
    return select<T>(x <= simd::broadcast(p.threshold), constant<T>(0), dy);
  }
};

template <>
struct VectorForm<HardSigmoid> {
  template <class T>
  static Vec<T> map(Vec<T> x, const HardSigmoid::Parameters<T>& p) {
    return simd::clamp<T>(simd::apart<Vec<T>>(x * p.alpha) + p.beta, T{0}, T{1});
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const HardSigmoid::Parameters<T>& p) {
    return select<T>((y > constant<T>(0)) & (y < constant<T>(1)), dy * p.alpha, constant<T>(0));
  }
};

template <>
struct VectorForm<HardSwish> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
    return x * VectorForm<HardSigmoid>::map<T>(x, {T{1} / T{6}, T(0.5)});
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x) {
    const Vec<T> slope = select<T>(x > constant<T>(3), constant<T>(1), x * (T{1} / T{3}) + T(0.5));
    return dy * select<T>(x < constant<T>(-3), constant<T>(0), slope);
  }
};

#endif

}  // namespace headroom::unary
