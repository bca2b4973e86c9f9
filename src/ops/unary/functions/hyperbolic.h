#pragma once

#include <cmath>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Sinh : Function {
  static constexpr std::string_view kName = "sinh", kOnnx = "Sinh";
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::sinh(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return std::cosh(x);
  }
};

struct Cosh : Function {
  static constexpr std::string_view kName = "cosh", kOnnx = "Cosh";
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::cosh(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return std::sinh(x);
  }
};

// hypot does not overflow where x^2 would.
struct Asinh : Function {
  static constexpr std::string_view kName = "asinh", kOnnx = "Asinh";
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::asinh(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return 1 / std::hypot(T{1}, x);
  }
};

// NaN below 1, where it is not defined; the slope at 1 is infinite.
struct Acosh : Function {
  static constexpr std::string_view kName = "acosh", kOnnx = "Acosh";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kPositiveInputs = true;
  static constexpr double kInputOffset = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::acosh(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return 1 / (std::sqrt(x - 1) * std::sqrt(x + 1));
  }
};

// Infinite at -1 and 1, NaN beyond them.
struct Atanh : Function {
  static constexpr std::string_view kName = "atanh", kOnnx = "Atanh";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kPositiveInputs = true;
  static constexpr double kInputOffset = -0.55;  // well inside the domain
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::atanh(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return 1 / ((1 - x) * (1 + x));
  }
};

using HyperbolicFunctions = TypeList<Sinh, Cosh, Asinh, Acosh, Atanh>;

}  // namespace headroom::unary
