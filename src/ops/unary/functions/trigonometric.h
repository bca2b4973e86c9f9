#pragma once

#include <cmath>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Sin : Function {
  static constexpr std::string_view kName = "sin", kOnnx = "Sin";
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::sin(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return std::cos(x);
  }
};

struct Cos : Function {
  static constexpr std::string_view kName = "cos", kOnnx = "Cos";
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::cos(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return -std::sin(x);
  }
};

struct Tan : Function {
  static constexpr std::string_view kName = "tan", kOnnx = "Tan";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kSlopeFromOutput = true, kPositiveInputs = true;
  static constexpr double kInputOffset = -0.55;  // away from the poles
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::tan(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T y) {
    return 1 + y * y;
  }
};

// The slope is infinite at -1 and 1. (1 - x)(1 + x) keeps its digits near them, 1 - x^2 does not.
struct Asin : Function {
  static constexpr std::string_view kName = "asin", kOnnx = "Asin";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kPositiveInputs = true;
  static constexpr double kInputOffset = -0.55;  // well inside the domain
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::asin(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return 1 / std::sqrt((1 - x) * (1 + x));
  }
};

struct Acos : Function {
  static constexpr std::string_view kName = "acos", kOnnx = "Acos";
  static constexpr double kSpecial = 1, kOther = 0;
  static constexpr bool kPositiveInputs = true;
  static constexpr double kInputOffset = -0.55;  // well inside the domain
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::acos(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return -1 / std::sqrt((1 - x) * (1 + x));
  }
};

struct Atan : Function {
  static constexpr std::string_view kName = "atan", kOnnx = "Atan";
  static constexpr double kSpecial = 1, kOther = 0;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::atan(x);
  }
  template <class T>
  HEADROOM_HOST_DEVICE static T slope(T x) {
    return 1 / (1 + x * x);
  }
};

using TrigonometricFunctions = TypeList<Sin, Cos, Tan, Asin, Acos, Atan>;

}  // namespace headroom::unary
