#pragma once

// The optimizers' descriptions; arithmetic.h has what they do.

#include <limits>

#include "ops/updates/arithmetic.h"
#include "ops/updates/updates.h"

namespace headroom::updates {

inline Settings settings_of(const UpdateRule& rule, const Attrs& attrs) {
  Settings settings;
  for (std::size_t i = 0; i < rule.settings.size(); ++i)
    if (const UpdateSetting& s = rule.settings[i]; !s.name.empty())
      settings.value[i] = attrs.real(s.name, s.fallback);
  return settings;
}

inline constexpr double kAnyPositive = std::numeric_limits<double>::infinity();

inline constexpr UpdateRule kSgd{.name = "sgd",
                                 .settings = {{{"momentum"}}},
                                 .states = {"momentum"},
                                 .optional_last = true,
                                 .element = {.multiply_add = 2}};

inline constexpr UpdateRule kAdagrad{.name = "adagrad",
                                     .settings = {{{"epsilon", 1e-10, kAnyPositive}}},
                                     .states = {"square_sum"},
                                     .element = {.multiply_add = 4, .other = 2, .special = 1}};

inline constexpr UpdateRule kAdadelta{.name = "adadelta",
                                      .settings = {{{"rho", 0.9}, {"epsilon", 1e-6, kAnyPositive}}},
                                      .states = {"square_average", "delta_average"},
                                      .element = {.multiply_add = 10, .other = 6, .special = 2}};

inline constexpr UpdateRule kRmsprop{
    .name = "rmsprop",
    .settings = {{{"alpha", 0.99}, {"epsilon", 1e-8, kAnyPositive}, {"momentum"}}},
    .states = {"square_average", "momentum"},
    .optional_last = true,
    .element = {.multiply_add = 6, .other = 3, .special = 1}};

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

}  // namespace headroom::updates
