#pragma once

// For code over rows of several tensors at once: body(lanes, i) loads and stores a register of elements from
// element i on, through `lanes`; at the end of a row those are fewer, padded with zeros.

#include "ops/cpu/simd.h"

namespace headroom::simd {

// The first `count` lanes; zeros behind them.
#if defined(__AVX512F__)
inline unsigned first_lanes(std::int64_t count) { return (1U << count) - 1; }
inline Vec<float> load_some(const float* from, std::int64_t count) {
  if (count == kLanes<float>) return load(from);
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(first_lanes(count)), from);
}
inline Vec<double> load_some(const double* from, std::int64_t count) {
  if (count == kLanes<double>) return load(from);
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(first_lanes(count)), from);
}
inline void store_some(float* to, Vec<float> v, std::int64_t count) {
  if (count == kLanes<float>) return store(to, v);
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(first_lanes(count)), v);
}
inline void store_some(double* to, Vec<double> v, std::int64_t count) {
  if (count == kLanes<double>) return store(to, v);
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first_lanes(count)), v);
}
#else
template <class T>
inline Vec<T> load_some(const T* from, std::int64_t count) {
  if (count == kLanes<T>) return load(from);
  Vec<T> v{};
  for (int i = 0; i < count; ++i) v[i] = from[i];
  return v;
}

template <class T>
inline void store_some(T* to, Vec<T> v, std::int64_t count) {
  if (count == kLanes<T>) return store(to, v);
  for (int i = 0; i < count; ++i) to[i] = v[i];
}
#endif

template <class T>
struct AllLanes {
  Vec<T> load(const T* from) const { return simd::load(from); }
  void store(T* to, Vec<T> v) const { simd::store(to, v); }
};

template <class T>
struct FirstLanes {
  std::int64_t count;
  Vec<T> load(const T* from) const { return load_some(from, count); }
  void store(T* to, Vec<T> v) const { store_some(to, v, count); }
};

template <class T, class Body>
inline void each_register(std::int64_t n, Body body) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) body(AllLanes<T>{}, i);
  if (i < n) body(FirstLanes<T>{n - i}, i);
}

}  // namespace headroom::simd
