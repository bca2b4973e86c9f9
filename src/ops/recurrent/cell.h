#pragma once

// What happens to one cell of one step once the products are there. Shared by references, CPU and GPU.

#include <cmath>

#include "base/host_device.h"

namespace headroom::recurrent {

template <class T>
HEADROOM_HOST_DEVICE inline T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

// Sums of the four gates, in ONNX's order.
template <class T>
struct LstmGates {
  T i, o, f, g;
};
template <class T>
struct LstmState {
  T h, c;
};
template <class T>
HEADROOM_HOST_DEVICE inline LstmState<T> lstm(const LstmGates<T>& s, T c) {
  const T next = sigmoid(s.f) * c + sigmoid(s.i) * std::tanh(s.g);
  return {sigmoid(s.o) * std::tanh(next), next};
}

// z and r after their sigmoid; candidate: the whole sum under the tanh.
template <class T>
HEADROOM_HOST_DEVICE inline T gru(T z, T candidate, T h) {
  return (T{1} - z) * std::tanh(candidate) + z * h;
}

template <class T>
HEADROOM_HOST_DEVICE inline T rnn(T sum, bool relu) {
  return relu ? (sum < 0 ? T{0} : sum) : std::tanh(sum);
}

}  // namespace headroom::recurrent
