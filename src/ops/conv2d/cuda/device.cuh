#pragma once

// What the convolution kernels share on the device.

#include "ops/conv2d/cuda/sweep.h"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {

__device__ inline int quotient(int x, const Divide& d) {
  return d.by == 1 ? x : static_cast<int>(__umulhi(static_cast<unsigned>(x), d.factor));
}

// The numbers are those of headroom::Activation: none, relu, sigmoid, tanh. The costly ones are called, not
// inlined: unrolled epilogues would hold dozens of copies.
template <class C>
__device__ __noinline__ C squash(bool as_tanh, C x) {
  if (as_tanh) return tanh(x);
  return C{1} / (C{1} + exp(-x));
}
template <class C>
__device__ inline C activate(int kind, C x) {
  if (kind == 1) return x < 0 ? C{0} : x;
  return kind < 2 ? x : squash(kind == 3, x);
}

// Where a window's coordinate falls in the input; -1: on padding, or between two elements of a strided
// gradient.
__device__ inline int source(int at, int div, int extent) {
  if (div > 1) {
    if (at < 0 || at % div != 0) return -1;
    at /= div;
  }
  return static_cast<unsigned>(at) < static_cast<unsigned>(extent) ? at : -1;
}

}  // namespace headroom::cuda
