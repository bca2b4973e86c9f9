#pragma once

// What products do to their tiles while those are in a cache.

#include "ops/activation/activation.h"
#include "ops/cpu/gemm.h"

namespace headroom {

// f(c + bias) with one bias for each column; a null bias is none.
template <class T>
AfterGemm<T> bias_and_activation(const T* bias, Activation activation) {
  if (bias == nullptr && activation == Activation::none) return {};
  return [=](std::int64_t, std::int64_t column, std::int64_t columns, T* c) {
    if (bias != nullptr)
      for (std::int64_t j = 0; j < columns; ++j) c[j] += bias[column + j];
    apply_activation(activation, columns, c, c);
  };
}

// c times the slope by outputs y[.., pitch].
template <class T>
AfterGemm<T> times_slope(Activation slope, const T* y, std::int64_t pitch) {
  if (slope == Activation::none) return {};
  return [=](std::int64_t row, std::int64_t column, std::int64_t columns, T* c) {
    apply_slope(slope, columns, c, y + row * pitch + column, c);
  };
}

}  // namespace headroom
