#pragma once

// Winograd's transforms of registers: neighbouring lanes are neighbouring tiles, or maps.

#include <algorithm>

#include "ops/conv2d/cpu/winograd.h"
#include "ops/cpu/lanes.h"

namespace headroom::winograd {

// The same address, but one that the compiler cannot take for the last one and a step: it would keep a
// pointer for each of 16 places, in memory.
template <class T>
[[gnu::always_inline]] inline T* fresh(T* address) {
  asm("" : "+r"(address));
  return address;
}

// B^T d of four numbers that lie `step` apart.
template <class V>
[[gnu::always_inline]] inline void of_input(V* d, int step) {
  const V first = d[0] - d[2 * step], sum = d[step] + d[2 * step], difference = d[2 * step] - d[step],
          last = d[step] - d[3 * step];
  d[0] = first, d[step] = sum, d[2 * step] = difference, d[3 * step] = last;
}

// G g: three numbers become four.
template <class V>
[[gnu::always_inline]] inline void of_filter(const V* g, int step, V* to, int to_step) {
  const V ends = g[0] + g[2 * step];
  to[0] = g[0], to[3 * to_step] = g[2 * step];
  to[to_step] = (ends + g[step]) * 0.5F, to[2 * to_step] = (ends - g[step]) * 0.5F;
}

// Transforms a register of tiles: 16 places, `step` apart. kSome: only `room` lanes are stored.
template <class T, bool kSome>
[[gnu::always_inline]] inline void transform_register(const T* from, std::int64_t phase, std::int64_t room,
                                                      T* to, std::int64_t step) {
  simd::Vec<T> d[kPlaces];
#pragma GCC unroll 4
  for (int row = 0; row < kSide; ++row, from = fresh(from + 2 * phase)) {
    d[row * kSide] = simd::load(from), d[row * kSide + 1] = simd::load(from + phase);
    d[row * kSide + 2] = simd::load(from + 1), d[row * kSide + 3] = simd::load(from + phase + 1);
  }
#pragma GCC unroll 4
  for (int column = 0; column < kSide; ++column) of_input(d + column, kSide);
#pragma GCC unroll 4
  for (int row = 0; row < kSide; ++row) of_input(d + row * kSide, 1);
#pragma GCC unroll 16
  for (int place = 0; place < kPlaces; ++place, to = fresh(to + step))
    if constexpr (kSome)
      simd::store_some(to, d[place], room);
    else
      simd::store(to, d[place]);
}

// The four outputs of a register of tiles, from products that lie `step` apart.
template <class T>
struct Outputs {
  simd::Vec<T> at[2][2];
};
template <class T>
[[gnu::always_inline]] inline Outputs<T> outputs_of(const T* products, std::int64_t step, T start) {
  simd::Vec<T> upper[kSide], lower[kSide];
#pragma GCC unroll 4
  for (int column = 0; column < kSide; ++column) {
    const auto product = [&](int row) { return simd::load(products + (row * kSide + column) * step); };
    const simd::Vec<T> middle = product(1), next = product(2);
    upper[column] = product(0) + middle + next, lower[column] = middle - next - product(3);
  }
  const simd::Vec<T> begin = simd::broadcast<T>(start);
  const auto left = [&](const simd::Vec<T>* v) { return v[0] + v[1] + v[2] + begin; };
  const auto right = [&](const simd::Vec<T>* v) { return v[1] - v[2] - v[3] + begin; };
  return {{{left(upper), right(upper)}, {left(lower), right(lower)}}};
}

template <class T>
inline simd::Vec<T> pooled(BlockPool::Kind kind, const Outputs<T>& y, simd::Vec<T> low, simd::Vec<T> high) {
  const simd::Vec<T> a = simd::cut(y.at[0][0], low, high), b = simd::cut(y.at[0][1], low, high),
                     c = simd::cut(y.at[1][0], low, high), d = simd::cut(y.at[1][1], low, high);
  if (kind == BlockPool::Kind::max) return simd::max_or_nan(simd::max_or_nan(a, b), simd::max_or_nan(c, d));
  return ((a + b) + (c + d)) * T{0.25};
}

// A row of results to y: residual and cut, unless that is done.
template <class T>
inline void store_row(std::int64_t count, const T* from, const T* residual, bool cuts, simd::Vec<T> low,
                      simd::Vec<T> high, T* to) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  for (std::int64_t i = 0; i < count; i += kL) {
    const std::int64_t some = std::min(kL, count - i);
    simd::Vec<T> v = simd::load(from + i);
    if (residual != nullptr) v += simd::load_some(residual + i, some);
    if (cuts) v = simd::cut(v, low, high);
    simd::store_some(to + i, v, some);
  }
}

}  // namespace headroom::winograd
