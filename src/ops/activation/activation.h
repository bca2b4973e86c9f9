#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "ops/activation/kind.h"
#include "ops/cpu/vmath.h"
#include "ops/operator.h"

namespace headroom {

// relu, sigmoid, tanh and their gradients. Each gradient needs only the output y, so an activation can be
// fused into the product before it and the pre-activation need not be kept.
std::vector<Operator> activation_operators();

Launcher prepare_activation_cuda(const Problem& problem, const LaunchContext& context);

// Those that products apply as they store, by the names of their operators.
struct NamedActivation {
  std::string_view name;
  std::string_view onnx;
  Activation kind;
};
inline constexpr std::array<NamedActivation, 3> kActivations = {{{"relu", "Relu", Activation::relu},
                                                                 {"sigmoid", "Sigmoid", Activation::sigmoid},
                                                                 {"tanh", "Tanh", Activation::tanh}}};
std::optional<Activation> parse_activation(std::string_view name);  // "" and "none" are none

// The definition, one element at a time: what references call.
template <class T>
T activate_scalar(Activation kind, T x) {
  switch (kind) {
    case Activation::relu:
      return x < 0 ? T{0} : x;
    case Activation::sigmoid:
      return T{1} / (T{1} + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::none:
      break;
  }
  return x;
}

// y = f(x) in place or not; what fused kernels call on each tile while it is in cache.
template <class T>
inline void apply_activation(Activation kind, std::int64_t n, const T* x, T* y) {
  using simd::Vec;
  switch (kind) {
    case Activation::none:
      if (x != y) std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(T));
      return;
    case Activation::relu:
      return simd::map(n, x, y,
                       [](Vec<T> v) { return v < simd::broadcast<T>(0) ? simd::broadcast<T>(0) : v; });
    case Activation::sigmoid:
      return simd::map(n, x, y, [](Vec<T> v) { return simd::sigmoid<T>(v); });
    case Activation::tanh:
      return simd::map(n, x, y, [](Vec<T> v) { return simd::tanh<T>(v); });
  }
}

// f'(x) by the output.
template <class T>
T slope_from_output(Activation kind, T y) {
  switch (kind) {
    case Activation::relu:
      return y > 0 ? T{1} : T{0};
    case Activation::sigmoid:
      return y * (1 - y);
    case Activation::tanh:
      return 1 - y * y;
    case Activation::none:
      break;
  }
  return 1;
}

// dx = dy * f'(x), with f' from y. Selection instead of a branch: the sign of y is as good as random. In
// place or not.
template <class T>
inline void apply_slope(Activation kind, std::int64_t n, const T* dy, const T* y, T* dx) {
  using simd::Vec;
  const Vec<T> zero = simd::broadcast<T>(0), one = simd::broadcast<T>(1);
  switch (kind) {
    case Activation::relu:
      return simd::map2(n, dy, y, dx, [=](Vec<T> g, Vec<T> v) { return v > zero ? g : zero; });
    case Activation::sigmoid:
      return simd::map2(n, dy, y, dx, [=](Vec<T> g, Vec<T> v) { return g * (v * (one - v)); });
    default:
      return simd::map2(n, dy, y, dx, [=](Vec<T> g, Vec<T> v) { return g * (one - v * v); });
  }
}

}  // namespace headroom
