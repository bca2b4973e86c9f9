#pragma once

// What a function of one element is made of. Each function is one struct in a header of functions/ and stands
// in the list at the end of that header. Kernels, schema, test cases, layer types of net.json and ONNX files
// take everything from the struct:
//
//   kName              the operator; its gradient is kName + "_grad"
//   kSpecial, kOther   operations per element, for the cost
//   at(x)              the function
//   slope(v)           the derivative, from x or from y = f(x); absent where the gradient is made of other
//                      operators, or where there is none
//
// `Function` declares the rest, with the usual values. A function that has attributes also declares
// kAttributes and Parameters<T>, a struct with one T for each attribute in the same order. Then `at` and
// `slope` take the parameters as a second argument.
//
// A VectorForm holds the same on vectors of the CPU. Functions without one are computed lane by lane.

#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "base/host_device.h"
#include "base/type_list.h"

namespace headroom::unary {

// A number that a function takes beside x.
struct Attribute {
  std::string_view name;
  double fallback;                                        // where the attribute is absent
  double min = -std::numeric_limits<double>::infinity();  // smaller values are rejected
};

// Attributes to test a function with, beside the defaults. An empty name sets nothing.
struct Setting {
  std::string_view name = {};
  double value = 0;
};
struct Trial {
  Setting first = {}, second = {};
};

// A gradient that is another operator, of dy alone or of dy and the input or output of the function.
struct GradientOperator {
  enum class Operand { none, input, output };
  std::string_view op = {};  // empty: there is no such gradient
  Operand operand = Operand::none;
};

// A word that chooses between functions: kForms[i] stands for the i-th type of Forms.
struct FormAttribute {
  std::string_view name = {};
  std::array<std::string_view, 2> words = {};
};

struct Function {
  static constexpr std::string_view kOnnx = {};    // ONNX operator with the same attributes; empty: none
  static constexpr int kOnnxOpset = 0;             // the operator set that brought it; 0: an old one
  static constexpr bool kSlopeFromOutput = false;  // `slope` takes y instead of x
  static constexpr bool kActivation = false;       // layers of net.json take it as their "activation"
  static constexpr bool kPositiveInputs = false;   // tests fill x with positive numbers
  static constexpr double kInputOffset = 0;        // that tests add to them
  static constexpr bool kExact = false;            // see Operator::exact
  static constexpr std::array<Attribute, 0> kAttributes = {};
  static constexpr std::array<Trial, 0> kTrials = {};
  static constexpr GradientOperator kGradient = {};
  static constexpr FormAttribute kForm = {};
  template <class T>
  struct Parameters {};
};

template <class F>
concept HasSlope = requires(double v) {
  F::template slope<double>(v);
}
|| requires(double v, typename F::template Parameters<double> p) { F::template slope<double>(v, p); };

// The functions that one operator stands for: itself, unless an attribute chooses between several.
template <class F>
struct FormsOf {
  using type = TypeList<F>;
};
template <class F>
requires requires { typename F::Forms; }
struct FormsOf<F> {
  using type = typename F::Forms;
};

// The attributes of a problem as numbers, in the order of kAttributes.
inline constexpr std::size_t kMaxAttributes = 2;
using AttributeValues = std::array<double, kMaxAttributes>;

template <class F, class T>
typename F::template Parameters<T> parameters_from(const AttributeValues& values) {
  constexpr std::size_t kCount = F::kAttributes.size();
  static_assert(kCount <= kMaxAttributes);
  if constexpr (kCount == 0) {
    return {};
  } else {
    std::array<T, kCount> numbers;
    for (std::size_t i = 0; i < kCount; ++i) numbers[i] = static_cast<T>(values[i]);
    return std::bit_cast<typename F::template Parameters<T>>(numbers);
  }
}

template <class F, class T>
HEADROOM_HOST_DEVICE inline T value_at(T x, const typename F::template Parameters<T>& p) {
  if constexpr (F::kAttributes.size() == 0)
    return F::template at<T>(x);
  else
    return F::template at<T>(x, p);
}

template <class F, class T>
HEADROOM_HOST_DEVICE inline T slope_at(T v, const typename F::template Parameters<T>& p) {
  if constexpr (F::kAttributes.size() == 0)
    return F::template slope<T>(v);
  else
    return F::template slope<T>(v, p);
}

}  // namespace headroom::unary

#ifndef __CUDACC__  // nvcc does not read vector types

#include "ops/cpu/vector_erf.h"

namespace headroom::unary {

template <class T>
using Vec = simd::Vec<T>;

template <class T>
inline Vec<T> select(simd::IntVec<T> condition, Vec<T> yes, Vec<T> no) {
  return condition ? yes : no;
}
template <class T>
inline Vec<T> constant(double x) {
  return simd::broadcast(static_cast<T>(x));
}

// A function on vectors: `map` is the function, `grad` is dy times the slope. Both take the parameters where
// the function has any. Optional: is_simple and simple, a faster map for arguments that need no care. This
// one computes lane by lane; rounding still becomes one instruction.
template <class F>
struct VectorForm {
  template <class T>
  static Vec<T> map(Vec<T> x, const typename F::template Parameters<T>& p = {}) {
    for (int i = 0; i < simd::kLanes<T>; ++i) x[i] = value_at<F, T>(x[i], p);
    return x;
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> v, const typename F::template Parameters<T>& p = {}) {
    for (int i = 0; i < simd::kLanes<T>; ++i) v[i] = dy[i] * slope_at<F, T>(v[i], p);
    return v;
  }
};

template <class F, class T>
inline Vec<T> map_vector(Vec<T> x, const typename F::template Parameters<T>& p) {
  if constexpr (F::kAttributes.size() == 0)
    return VectorForm<F>::template map<T>(x);
  else
    return VectorForm<F>::template map<T>(x, p);
}

template <class F, class T>
inline Vec<T> grad_vector(Vec<T> dy, Vec<T> v, const typename F::template Parameters<T>& p) {
  if constexpr (F::kAttributes.size() == 0)
    return VectorForm<F>::template grad<T>(dy, v);
  else
    return VectorForm<F>::template grad<T>(dy, v, p);
}

}  // namespace headroom::unary

#endif
