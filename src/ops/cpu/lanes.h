#pragma once

// For code over rows of several tensors at once: body(lanes, i) loads and stores a register of elements from
// element i on, through `lanes`; at the end of a row those are fewer, padded with zeros.

#include "ops/cpu/simd.h"

namespace headroom::simd {

template <class T>
struct AllLanes {
  Vec<T> load(const T* from) const { return simd::load(from); }
  void store(T* to, Vec<T> v) const { simd::store(to, v); }
};

template <class T>
struct FirstLanes {
  std::int64_t count;
  std::size_t bytes() const { return static_cast<std::size_t>(count) * sizeof(T); }
  Vec<T> load(const T* from) const {
    alignas(kVectorBytes) T padded[kLanes<T>] = {};
    std::memcpy(padded, from, bytes());
    return simd::load(padded);
  }
  void store(T* to, Vec<T> v) const {
    alignas(kVectorBytes) T padded[kLanes<T>];
    simd::store(padded, v);
    std::memcpy(to, padded, bytes());
  }
};

template <class T, class Body>
inline void each_register(std::int64_t n, Body body) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) body(AllLanes<T>{}, i);
  if (i < n) body(FirstLanes<T>{n - i}, i);
}

}  // namespace headroom::simd
