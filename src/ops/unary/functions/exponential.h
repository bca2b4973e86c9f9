#pragma once

// Exponentials, logarithms and roots.

#include <cmath>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Exp : Function {
  static constexpr std::string_view kName = "exp", kOnnx = "Exp";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr GradientOperator kGradient = {"mul", GradientOperator::Operand::output};
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::exp(x);
  }
};

struct Log : Function {
  static constexpr std::string_view kName = "log", kOnnx = "Log";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kPositiveInputs = true;
  static constexpr GradientOperator kGradient = {"div", GradientOperator::Operand::input};
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::log(x);
  }
};

struct Sqrt : Function {
  static constexpr std::string_view kName = "sqrt", kOnnx = "Sqrt";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kSlopeFromOutput = true, kPositiveInputs = true;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::sqrt(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y) {
    return T(0.5) / y;
  }
};

// x < 0 ? alpha (e^x - 1) : x. The slope follows from y only while alpha is not negative.
struct Elu : Function {
  static constexpr std::string_view kName = "elu", kOnnx = "Elu";
  static constexpr double kSpecial = 1, kOther = 2;
  static constexpr bool kSlopeFromOutput = true, kActivation = true;
  static constexpr std::array kAttributes = {Attribute{"alpha", 1, 0}};
  static constexpr std::array kTrials = {Trial{{"alpha", 0.5}}};
  template <class T>
  struct Parameters {
    T alpha;
  };
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x, const Parameters<T>& p) {
    return x < 0 ? p.alpha * std::expm1(x) : x;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y, const Parameters<T>& p) {
    return y > 0 ? T{1} : y + p.alpha;
  }
};

// log(1 + e^x), written so that nothing overflows.
struct Softplus : Function {
  static constexpr std::string_view kName = "softplus", kOnnx = "Softplus";
  static constexpr double kSpecial = 2, kOther = 3;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::abs(x))) + (x != x ? x : T{0});
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    const T e = std::exp(-std::abs(x));
    return (x < 0 ? e : T{1}) / (1 + e);
  }
};

using ExponentialFunctions = TypeList<Exp, Log, Sqrt, Elu, Softplus>;

#ifndef __CUDACC__

template <>
struct VectorForm<Exp> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
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

template <>
struct VectorForm<Log> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
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

template <>
struct VectorForm<Sqrt> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
    return simd::sqrt(x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y) {
    return dy * T(0.5) / y;
  }
};

template <>
struct VectorForm<Elu> {
  template <class T>
  static Vec<T> map(Vec<T> x, const Elu::Parameters<T>& p) {
    return select<T>(x < constant<T>(0), simd::expm1<T>(x) * p.alpha, x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> y, const Elu::Parameters<T>& p) {
    return select<T>(y > constant<T>(0), dy, dy * (y + p.alpha));
  }
};

#endif

}  // namespace headroom::unary
