#pragma once

// Sums over contiguous memory. Four vectors of partial sums hide the latency of the addition and shorten the
// chain of roundings; their order depends on n alone.

#include "ops/cpu/simd.h"

namespace headroom::simd {

template <class T>
inline T sum(std::int64_t n, const T* x) {
  Vec<T> part[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
    for (int k = 0; k < 4; ++k) part[k] += load(x + i + k * kLanes<T>);
  for (; i + kLanes<T> <= n; i += kLanes<T>) part[0] += load(x + i);
  T total = n < kLanes<T> ? T{0} : sum<T>((part[0] + part[1]) + (part[2] + part[3]));
  for (; i < n; ++i) total += x[i];
  return total;
}

template <class T>
inline T dot(std::int64_t n, const T* x, const T* y) {
  Vec<T> part[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
    for (int k = 0; k < 4; ++k) part[k] += load(x + i + k * kLanes<T>) * load(y + i + k * kLanes<T>);
  for (; i + kLanes<T> <= n; i += kLanes<T>) part[0] += load(x + i) * load(y + i);
  T total = n < kLanes<T> ? T{0} : sum<T>((part[0] + part[1]) + (part[2] + part[3]));
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

}  // namespace headroom::simd
