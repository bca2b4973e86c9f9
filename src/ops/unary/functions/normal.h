#pragma once

// Functions of the normal distribution: erf and gelu.

#include <cmath>

#include "ops/unary/function.h"
#ifdef __CUDACC__
#include "ops/unary/normal.cuh"
#endif

namespace headroom::unary {

struct Erf : Function {
  static constexpr std::string_view kName = "erf", kOnnx = "Erf";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr double kScale = 1.12837916709551257390;  // 2 / sqrt(pi)
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::erf(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return static_cast<T>(kScale) * std::exp(-x * x);
  }
};

// x F(x) with F the distribution of a normal number; the slope is F(x) + x F'(x). In fp32 a GPU has its own
// F, see normal.cuh.
struct GeluExact : Function {
  static constexpr double kSpecial = 1;
  static constexpr double kRoot = 0.70710678118654752440;     // 1 / sqrt(2)
  static constexpr double kDensity = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 4)
      return x * cuda::normal_cdf(x);
    else
#endif
      return x * std::erfc(x * static_cast<T>(-kRoot)) / 2;
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 4)
      return cuda::normal_cdf(x) + x * static_cast<T>(kDensity) * expf(-x * x / 2);
    else
#endif
      return std::erfc(x * static_cast<T>(-kRoot)) / 2 + x * static_cast<T>(kDensity) * std::exp(-x * x / 2);
  }
};

// x (1 + tanh u) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3), written as x s with s = sigmoid(2 u). With
// e = exp(-|2 u|) nothing overflows, and s (1 - s) = e / (1 + e)^2 loses no digits where s is close to 1.
struct GeluTanh : Function {
  static constexpr double kSpecial = 1;
  static constexpr double kLine = 1.5957691216057307117;  // 2 sqrt(2/pi)
  static constexpr double kCube = kLine * 0.044715;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    const T e = std::exp(-std::abs(x * (static_cast<T>(kLine) + x * x * static_cast<T>(kCube))));
    return x < 0 ? x * e / (1 + e) : x / (1 + e);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    const T e = std::exp(-std::abs(x * (static_cast<T>(kLine) + x * x * static_cast<T>(kCube))));
    const T s = (x < 0 ? e : T{1}) / (1 + e),
            inner = static_cast<T>(kLine) + x * x * static_cast<T>(3 * kCube);
    return s + x * inner * e / ((1 + e) * (1 + e));
  }
};

// One operator, two functions. The cost is that of the exact form for both.
struct Gelu : Function {
  static constexpr std::string_view kName = "gelu", kOnnx = "Gelu";
  static constexpr int kOnnxOpset = 20;
  static constexpr double kSpecial = 1, kOther = 3;
  static constexpr bool kActivation = true;
  static constexpr FormAttribute kForm = {"approximate", {"none", "tanh"}};
  using Forms = TypeList<GeluExact, GeluTanh>;
};

using NormalFunctions = TypeList<Erf, Gelu>;

#ifndef __CUDACC__

template <>
struct VectorForm<Erf> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
    return simd::erf<T>(x);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x) {
    return dy * (simd::exp<T>(-x * x) * static_cast<T>(Erf::kScale));
  }
};

template <>
struct VectorForm<GeluExact> {
  template <class T>
  static Vec<T> map(Vec<T> x) {
    // The distribution vanishes before its product with minus infinity does.
    const Vec<T> y = x * simd::normal_cdf<T>(x);
    return select<T>(x < constant<T>(-1e30), constant<T>(0), y);
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x) {
    const Vec<T> density = simd::exp<T>(x * x * T(-0.5)) * static_cast<T>(GeluExact::kDensity);
    return dy * (simd::normal_cdf<T>(x) + x * density);
  }
};

template <>
struct VectorForm<GeluTanh> {
  template <class T>
  static constexpr T kLine = static_cast<T>(GeluTanh::kLine);
  template <class T>
  static constexpr T kCube = static_cast<T>(GeluTanh::kCube);
  template <class T>
  static Vec<T> map(Vec<T> x) {
    const Vec<T> e = simd::exp<T>(-simd::abs<T>(x * (x * x * kCube<T> + kLine<T>)));
    const Vec<T> y = select<T>(x < constant<T>(0), x * e, x) / (e + T{1});
    return select<T>(x < constant<T>(-1e30), constant<T>(0), y);  // not infinity times 0
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x) {
    const Vec<T> square = x * x, one = constant<T>(1);
    const Vec<T> e = simd::exp<T>(-simd::abs<T>(x * (square * kCube<T> + kLine<T>)));
    const Vec<T> r = one / (one + e), inner = square * static_cast<T>(3 * GeluTanh::kCube) + kLine<T>;
    return dy * (select<T>(x < constant<T>(0), e * r, r) + x * inner * (e * r * r));
  }
};

#endif

}  // namespace headroom::unary
