#pragma once

// The optimizers' arithmetic. Each rule is written once, for a number and for a vector V of numbers:
//   Rule<T>(attrs)         when a plan is made ready
//   begin(rate, step)      at each launch
//   next(p, g, states)     returns the new parameter and replaces the states
// L2 is added outside. A new optimizer is one class here, its description and its line in kernels.cc.

#include <cmath>
#include <limits>

#include "ops/cpu/simd.h"
#include "ops/updates/updates.h"

namespace headroom::updates {

template <class V>
inline V root(V x) {
  if constexpr (std::is_arithmetic_v<V>)
    return std::sqrt(x);
  else
    return simd::sqrt(x);
}

inline double setting(const UpdateRule& rule, const Attrs& attrs, std::string_view name) {
  for (const UpdateSetting& s : rule.settings)
    if (s.name == name) return attrs.real(name, s.fallback);
  fail("{} has no setting '{}'", rule.name, name);
}

inline constexpr double kAnyPositive = std::numeric_limits<double>::infinity();

inline constexpr UpdateRule kSgd{.name = "sgd",
                                 .settings = {{{"momentum"}}},
                                 .states = {"momentum"},
                                 .optional_last = true,
                                 .element = {.multiply_add = 2}};

template <class T>
struct PlainSgd {
  static constexpr int kStates = 0;
  T rate = 0;
  explicit PlainSgd(const Attrs&) {}
  void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  V next(V p, V g, V*) const {
    return p - rate * g;
  }
};

template <class T, bool kNesterov>
struct MomentumSgd {
  static constexpr int kStates = 1;
  T rate = 0, momentum;
  explicit MomentumSgd(const Attrs& attrs) : momentum(static_cast<T>(attrs.real("momentum"))) {}
  void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  V next(V p, V g, V* s) const {
    s[0] = momentum * s[0] + g;
    return p - rate * (kNesterov ? g + momentum * s[0] : s[0]);
  }
};

inline constexpr UpdateRule kAdagrad{.name = "adagrad",
                                     .settings = {{{"epsilon", 1e-10, kAnyPositive}}},
                                     .states = {"square_sum"},
                                     .element = {.multiply_add = 4, .other = 2, .special = 1}};

template <class T>
struct Adagrad {
  static constexpr int kStates = 1;
  T rate = 0, epsilon;
  explicit Adagrad(const Attrs& attrs) : epsilon(static_cast<T>(setting(kAdagrad, attrs, "epsilon"))) {}
  void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  V next(V p, V g, V* s) const {
    s[0] = s[0] + g * g;
    return p - rate * g / (root(s[0]) + epsilon);
  }
};

inline constexpr UpdateRule kAdadelta{.name = "adadelta",
                                      .settings = {{{"rho", 0.9}, {"epsilon", 1e-6, kAnyPositive}}},
                                      .states = {"square_average", "delta_average"},
                                      .element = {.multiply_add = 10, .other = 6, .special = 2}};

template <class T>
struct Adadelta {
  static constexpr int kStates = 2;
  T rate = 0, rho, rest, epsilon;
  explicit Adadelta(const Attrs& attrs)
      : rho(static_cast<T>(setting(kAdadelta, attrs, "rho"))),
        rest(static_cast<T>(1 - setting(kAdadelta, attrs, "rho"))),
        epsilon(static_cast<T>(setting(kAdadelta, attrs, "epsilon"))) {}
  void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  V next(V p, V g, V* s) const {
    s[0] = rho * s[0] + rest * g * g;
    const V delta = root(s[1] + epsilon) / root(s[0] + epsilon) * g;
    s[1] = rho * s[1] + rest * delta * delta;
    return p - rate * delta;
  }
};

inline constexpr UpdateRule kRmsprop{
    .name = "rmsprop",
    .settings = {{{"alpha", 0.99}, {"epsilon", 1e-8, kAnyPositive}, {"momentum"}}},
    .states = {"square_average", "momentum"},
    .optional_last = true,
    .element = {.multiply_add = 6, .other = 3, .special = 1}};

template <class T, bool kMomentum>
struct Rmsprop {
  static constexpr int kStates = kMomentum ? 2 : 1;
  T rate = 0, alpha, rest, epsilon, momentum;
  explicit Rmsprop(const Attrs& attrs)
      : alpha(static_cast<T>(setting(kRmsprop, attrs, "alpha"))),
        rest(static_cast<T>(1 - setting(kRmsprop, attrs, "alpha"))),
        epsilon(static_cast<T>(setting(kRmsprop, attrs, "epsilon"))),
        momentum(static_cast<T>(setting(kRmsprop, attrs, "momentum"))) {}
  void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  V next(V p, V g, V* s) const {
    s[0] = alpha * s[0] + rest * g * g;
    V step = g / (root(s[0]) + epsilon);
    if constexpr (kMomentum) step = s[1] = momentum * s[1] + step;
    return p - rate * step;
  }
};

inline constexpr UpdateRule kAdam{
    .name = "adam",
    .counts_steps = true,
    .settings = {{{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8, kAnyPositive}}},
    .states = {"first_moment", "second_moment"},
    .element = {.multiply_add = 10, .other = 2, .special = 1}};

inline constexpr UpdateRule kAdamw = [] {
  UpdateRule rule = kAdam;
  rule.name = "adamw";
  rule.decoupled = true;
  return rule;
}();

template <class T>
struct Adam {
  static constexpr int kStates = 2;
  double decay1, decay2;
  T beta1, rest1, beta2, rest2, epsilon;
  T rate = 0, widen = 1;  // with the corrections for moments that began at zero
  explicit Adam(const Attrs& attrs)
      : decay1(setting(kAdam, attrs, "beta1")),
        decay2(setting(kAdam, attrs, "beta2")),
        beta1(static_cast<T>(decay1)),
        rest1(static_cast<T>(1 - decay1)),
        beta2(static_cast<T>(decay2)),
        rest2(static_cast<T>(1 - decay2)),
        epsilon(static_cast<T>(setting(kAdam, attrs, "epsilon"))) {}
  void begin(double new_rate, double step) {
    rate = static_cast<T>(new_rate / (1 - std::pow(decay1, step)));
    widen = static_cast<T>(1 / std::sqrt(1 - std::pow(decay2, step)));
  }
  template <class V>
  V next(V p, V g, V* s) const {
    s[0] = beta1 * s[0] + rest1 * g;
    s[1] = beta2 * s[1] + rest2 * g * g;
    return p - rate * s[0] / (root(s[1]) * widen + epsilon);
  }
};

}  // namespace headroom::updates
