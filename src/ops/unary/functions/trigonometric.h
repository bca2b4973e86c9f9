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

using TrigonometricFunctions = TypeList<Sin, Cos>;

}  // namespace headroom::unary
