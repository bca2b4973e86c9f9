#pragma once

// Rows of 2x2 windows that step by 2: two input rows give one output row. Vectors of pairs are split into
// even and odd columns, so that one vector operation serves as many windows as it has lanes.

#include <cstring>
#include <utility>

#include "ops/cpu/simd.h"
#include "ops/pool/pool.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace headroom::pairs {

// Is this one of them, with all windows on the input?
inline Verdict accepts_window(const Window2d& w) {
  const Extent2d one{1, 1}, two{2, 2}, zero{0, 0};
  if (w.kernel != two || w.stride != two || w.dilation != one)
    return refuse("not a 2x2 window that steps by 2");
  if (w.pad != zero || 2 * w.output.h > w.input.h || 2 * w.output.w > w.input.w)
    return refuse("windows reach into the padding");
  return accept();
}

template <class T, int N>
struct Lanes {
  typedef T Vec __attribute__((vector_size(N * sizeof(T))));
  static Vec load(const T* from) {
    Vec v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(T* to, Vec v) { std::memcpy(to, &v, sizeof v); }

  // NaN if either is. Arm has it as one instruction; elsewhere a comparison more than the usual maximum.
  static Vec larger(Vec a, Vec b) {
#if defined(__aarch64__)
    if constexpr (sizeof(Vec) == 16 && sizeof(T) == 4)
      return vmaxq_f32(a, b);
    else if constexpr (sizeof(Vec) == 16 && sizeof(T) == 8)
      return vmaxq_f64(a, b);
    else
#endif
      return (b > a) | (b != b) ? b : a;
  }

  template <int... I>
  static Vec even(Vec a, Vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (2 * I)...);
  }
  template <int... I>
  static Vec odd(Vec a, Vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (2 * I + 1)...);
  }
  template <int... I>
  static Vec zip(Vec a, Vec b, int from, std::integer_sequence<int, I...>) {
    return from == 0 ? __builtin_shufflevector(a, b, (I / 2 + I % 2 * N)...)
                     : __builtin_shufflevector(a, b, (N / 2 + I / 2 + I % 2 * N)...);
  }

  // 2N neighbours, split into first and second of each pair; and back.
  static void split_pairs(Vec a, Vec b, Vec& first, Vec& second) {
    first = even(a, b, std::make_integer_sequence<int, N>());
    second = odd(a, b, std::make_integer_sequence<int, N>());
  }
  static void load_pairs(const T* from, Vec& first, Vec& second) {
    split_pairs(load(from), load(from + N), first, second);
  }
  static void split(const T* from, T* first, T* second) {
    Vec a, b;
    load_pairs(from, a, b);
    store(first, a), store(second, b);
  }
  // The first of N pairs, all but the last number of which lie in `a` and, from its last number on, in `b`.
  template <int... I>
  static Vec firsts(Vec a, Vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (2 * I < N ? 2 * I : 2 * I + 1)...);
  }
  static void store_pairs(T* to, Vec first, Vec second) {
    store(to, zip(first, second, 0, std::make_integer_sequence<int, N>()));
    store(to + N, zip(first, second, 1, std::make_integer_sequence<int, N>()));
  }
};

// Calls f.operator()<N>() with the widest vector that a row of `n` windows fills, so that a row of 14 still
// runs in vectors where a register holds 16.
template <class T, int N = simd::kLanes<T>, class F>
void with_lanes(std::int64_t n, F&& f) {
  if constexpr (N > 2) {
    if (n < N) return with_lanes<T, N / 2>(n, f);
  }
  f.template operator()<N>();
}

// Steps of N windows; the last one overlaps its neighbour instead of running beyond the row.
template <int N, class Vector, class Scalar>
void each_window(std::int64_t n, Vector&& vector, Scalar&& scalar) {
  std::int64_t j = 0;
  for (; j + N <= n; j += N) vector(j);
  if (j == n) return;
  if (n >= N) return vector(n - N);
  for (; j < n; ++j) scalar(j);
}

// n pairs to their first and to their second numbers.
template <class T, int N>
[[gnu::always_inline]] inline void split_row(std::int64_t n, const T* from, T* first, T* second) {
  using L = Lanes<T, N>;
  std::int64_t j = 0;
  for (; j + N <= n; j += N) L::split(from + 2 * j, first + j, second + j);
  if (j < n && n >= N)
    L::split(from + 2 * (n - N), first + n - N, second + n - N);
  else
    for (; j < n; ++j) first[j] = from[2 * j], second[j] = from[2 * j + 1];
}

// The first of each of n pairs; the second of the last pair is not read.
template <class T, int N>
void first_of_pairs(std::int64_t n, const T* from, T* to) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        const T* const at = from + 2 * j;
        L::store(to + j, L::firsts(L::load(at), L::load(at + N - 1), std::make_integer_sequence<int, N>()));
      },
      [&](std::int64_t j) { to[j] = from[2 * j]; });
}

template <class T, int N>
void max_row(std::int64_t n, const T* top, const T* bottom, T* y) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        const auto left = L::larger(L::load(top + 2 * j), L::load(bottom + 2 * j));
        const auto right = L::larger(L::load(top + 2 * j + N), L::load(bottom + 2 * j + N));
        typename L::Vec first, second;
        L::split_pairs(left, right, first, second);
        L::store(y + j, L::larger(first, second));
      },
      [&](std::int64_t j) {
        T best = top[2 * j];
        for (T next : {top[2 * j + 1], bottom[2 * j], bottom[2 * j + 1]})
          if (exceeds(next, best)) best = next;
        y[j] = best;
      });
}

template <class T, int N>
void avg_row(std::int64_t n, const T* top, const T* bottom, T* y) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        typename L::Vec first, second;
        const typename L::Vec left = L::load(top + 2 * j) + L::load(bottom + 2 * j);
        const typename L::Vec right = L::load(top + 2 * j + N) + L::load(bottom + 2 * j + N);
        L::split_pairs(left, right, first, second);
        L::store(y + j, (first + second) * T{0.25});
      },
      [&](std::int64_t j) {
        y[j] = ((top[2 * j] + bottom[2 * j]) + (top[2 * j + 1] + bottom[2 * j + 1])) * T{0.25};
      });
}

}  // namespace headroom::pairs
