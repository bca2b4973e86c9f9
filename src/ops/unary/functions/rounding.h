#pragma once

// Functions of the whole part and the sign. They have no gradient. Networks use them on few elements, so they
// have no vector form.

#include <cmath>

#include "ops/unary/function.h"

namespace headroom::unary {

struct Floor : Function {
  static constexpr std::string_view kName = "floor", kOnnx = "Floor";
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::floor(x);
  }
};

struct Ceil : Function {
  static constexpr std::string_view kName = "ceil", kOnnx = "Ceil";
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::ceil(x);
  }
};

// Halves to the even neighbour.
struct Round : Function {
  static constexpr std::string_view kName = "round", kOnnx = "Round";
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return std::rint(x);
  }
};

struct Sign : Function {
  static constexpr std::string_view kName = "sign", kOnnx = "Sign";
  static constexpr double kSpecial = 0, kOther = 1;
  template <class T>
  HEADROOM_HOST_DEVICE static T at(T x) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  }
};

using RoundingFunctions = TypeList<Floor, Ceil, Round, Sign>;

}  // namespace headroom::unary
