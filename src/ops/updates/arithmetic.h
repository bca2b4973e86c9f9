#pragma once

// The optimizers' arithmetic. Each rule is written once, for a number and for a vector V of numbers, on the
// CPU and on a GPU:
//   Rule<T>(settings)      when a plan is made ready; on a GPU at each launch
//   begin(rate, step)      at each launch
//   next(p, g, states)     returns the new parameter and replaces the states
// L2 is added outside. A new optimizer is one class here, its description in rules.h and its line in
// kernels.cc and cuda.cu.

#include <cmath>
#include <type_traits>

#include "base/host_device.h"
#ifndef __CUDACC__
#include "ops/cpu/simd.h"
#endif

namespace headroom::updates {

// What the optimizer was given, in the order in which its description lists it.
struct Settings {
  double value[3] = {};
};

template <class V>
HEADROOM_HOST_DEVICE inline V root(V x) {
#ifndef __CUDACC__
  if constexpr (!std::is_arithmetic_v<V>)
    return simd::sqrt(x);
  else
#endif
    return std::sqrt(x);
}

template <class T>
struct PlainSgd {
  static constexpr int kStates = 0;
  T rate = 0;
  HEADROOM_HOST_DEVICE explicit PlainSgd(const Settings&) {}
  HEADROOM_HOST_DEVICE void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  HEADROOM_HOST_DEVICE V next(V p, V g, V*) const {
    return p - rate * g;
  }
};

template <class T, bool kNesterov>
struct MomentumSgd {
  static constexpr int kStates = 1;
  T rate = 0, momentum;
  HEADROOM_HOST_DEVICE explicit MomentumSgd(const Settings& s) : momentum(static_cast<T>(s.value[0])) {}
  HEADROOM_HOST_DEVICE void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  HEADROOM_HOST_DEVICE V next(V p, V g, V* s) const {
    s[0] = momentum * s[0] + g;
    return p - rate * (kNesterov ? g + momentum * s[0] : s[0]);
  }
};

template <class T>
struct Adagrad {
  static constexpr int kStates = 1;
  T rate = 0, epsilon;
  HEADROOM_HOST_DEVICE explicit Adagrad(const Settings& s) : epsilon(static_cast<T>(s.value[0])) {}
  HEADROOM_HOST_DEVICE void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  HEADROOM_HOST_DEVICE V next(V p, V g, V* s) const {
    s[0] = s[0] + g * g;
    return p - rate * g / (root(s[0]) + epsilon);
  }
};

template <class T>
struct Adadelta {
  static constexpr int kStates = 2;
  T rate = 0, rho, rest, epsilon;
  HEADROOM_HOST_DEVICE explicit Adadelta(const Settings& s)
      : rho(static_cast<T>(s.value[0])),
        rest(static_cast<T>(1 - s.value[0])),
        epsilon(static_cast<T>(s.value[1])) {}
  HEADROOM_HOST_DEVICE void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  HEADROOM_HOST_DEVICE V next(V p, V g, V* s) const {
    s[0] = rho * s[0] + rest * g * g;
    const V delta = root(s[1] + epsilon) / root(s[0] + epsilon) * g;
    s[1] = rho * s[1] + rest * delta * delta;
    return p - rate * delta;
  }
};

template <class T, bool kMomentum>
struct Rmsprop {
  static constexpr int kStates = kMomentum ? 2 : 1;
  T rate = 0, alpha, rest, epsilon, momentum;
  HEADROOM_HOST_DEVICE explicit Rmsprop(const Settings& s)
      : alpha(static_cast<T>(s.value[0])),
        rest(static_cast<T>(1 - s.value[0])),
        epsilon(static_cast<T>(s.value[1])),
        momentum(static_cast<T>(s.value[2])) {}
  HEADROOM_HOST_DEVICE void begin(double new_rate, double) { rate = static_cast<T>(new_rate); }
  template <class V>
  HEADROOM_HOST_DEVICE V next(V p, V g, V* s) const {
    s[0] = alpha * s[0] + rest * g * g;
    V step = g / (root(s[0]) + epsilon);
    if constexpr (kMomentum) step = s[1] = momentum * s[1] + step;
    return p - rate * step;
  }
};

template <class T>
struct Adam {
  static constexpr int kStates = 2;
  double decay1, decay2;
  T beta1, rest1, beta2, rest2, epsilon;
  T rate = 0, widen = 1;  // with the corrections for moments that began at zero
  HEADROOM_HOST_DEVICE explicit Adam(const Settings& s)
      : decay1(s.value[0]),
        decay2(s.value[1]),
        beta1(static_cast<T>(decay1)),
        rest1(static_cast<T>(1 - decay1)),
        beta2(static_cast<T>(decay2)),
        rest2(static_cast<T>(1 - decay2)),
        epsilon(static_cast<T>(s.value[2])) {}
  HEADROOM_HOST_DEVICE void begin(double new_rate, double step) {
    rate = static_cast<T>(new_rate / (1 - std::pow(decay1, step)));
    widen = static_cast<T>(1 / std::sqrt(1 - std::pow(decay2, step)));
  }
  template <class V>
  HEADROOM_HOST_DEVICE V next(V p, V g, V* s) const {
    s[0] = beta1 * s[0] + rest1 * g;
    s[1] = beta2 * s[1] + rest2 * g * g;
    return p - rate * s[0] / (root(s[1]) * widen + epsilon);
  }
};

}  // namespace headroom::updates
