#pragma once

// What happens to one cell of one step once the products are there. Shared by references, CPU and GPU; V is a
// number or a short vector of them.

#include <cmath>

#include "base/host_device.h"

namespace headroom::recurrent {

template <class T>
HEADROOM_HOST_DEVICE inline T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

template <class T>
HEADROOM_HOST_DEVICE inline T rnn(T sum, bool relu) {
  return relu ? (sum < 0 ? T{0} : sum) : std::tanh(sum);
}

// All after their functions.
template <class V>
struct LstmGates {
  V i, o, f, g;
};
template <class V>
HEADROOM_HOST_DEVICE inline V lstm_c(const LstmGates<V>& s, V c) {
  return s.f * c + s.i * s.g;
}
template <class V>
HEADROOM_HOST_DEVICE inline V gru_h(V z, V g, V h) {
  return (g - z * g) + z * h;
}

// The gradient of a sum under a sigmoid or tanh from that of its result; `y` is the result.
template <class V>
HEADROOM_HOST_DEVICE inline V through_sigmoid(V dy, V y) {
  return dy * (y - y * y);
}
template <class V>
HEADROOM_HOST_DEVICE inline V through_tanh(V dy, V y) {
  return dy - dy * (y * y);
}

// Gradients of the four sums, and of c before the step.
template <class V>
struct LstmGradient {
  V i, o, f, g, c;
};
template <class V>
HEADROOM_HOST_DEVICE inline LstmGradient<V> lstm_gradient(const LstmGates<V>& s, V tanh_c, V c_before, V dh,
                                                          V dc) {
  const V all = dc + through_tanh(dh * s.o, tanh_c);
  return {through_sigmoid(all * s.g, s.i), through_sigmoid(dh * tanh_c, s.o),
          through_sigmoid(all * c_before, s.f), through_tanh(all * s.i, s.g), all * s.f};
}

// Of the sums of z and g. Of h before the step only dh z: what comes through the gates is added later.
template <class V>
struct GruGradient {
  V z, g, h;
};
template <class V>
HEADROOM_HOST_DEVICE inline GruGradient<V> gru_gradient(V z, V g, V h_before, V dh) {
  return {through_sigmoid(dh * (h_before - g), z), through_tanh(dh - dh * z, g), dh * z};
}

}  // namespace headroom::recurrent
