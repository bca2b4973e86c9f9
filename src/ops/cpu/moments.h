#pragma once

// Mean and variance of many numbers in fp64. Runs of fixed length are measured each by itself and then
// joined, so that neither a mean far from zero nor the number of threads shows in the result.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/cpu/reduce.h"

namespace headroom {

struct Moments {
  double n = 0, mean = 0;
  double m2 = 0;  // sum of squared deviations from the mean
};

// The moments of the union of parts: walk(visit) calls visit for each of them. Two walks instead of one
// division a part.
template <class Walk>
Moments join_moments(Walk&& walk) {
  Moments all;
  double sum = 0;
  walk([&](const Moments& m) { all.n += m.n, sum += m.n * m.mean; });
  all.mean = sum / all.n;
  walk([&](const Moments& m) {
    const double away = m.mean - all.mean;
    all.m2 += m.m2 + m.n * away * away;
  });
  return all;
}

// The moments of both parts.
inline void add_moments(Moments& all, const Moments& m) {
  const double away = m.mean - all.mean, total = all.n + m.n;
  all.m2 += m.m2 + away * away * all.n * m.n / total;
  all.mean += away * m.n / total;
  all.n = total;
}

inline constexpr std::int64_t kMomentsRun = 4096;  // stays in the first cache for a second walk

namespace moments_detail {

using Wide = simd::Vec<double>;
inline constexpr int kWide = simd::kLanes<double>;
inline constexpr int kChains = 4;  // independent sums: one alone would wait for each addition

inline double total(const Wide* sums) { return simd::sum<double>((sums[0] + sums[1]) + (sums[2] + sums[3])); }

// Squares of fp32 are exact in fp64 and leave 29 bits for cancellation: one walk is enough.
inline Moments of_run(std::int64_t n, const float* x) {
  Wide sums[kChains] = {}, squares[2 * kChains] = {};
  std::int64_t i = 0;
  for (; i + 2 * kChains * kWide <= n; i += 2 * kChains * kWide) {
    simd::fetch_ahead(x + i);
    for (int k = 0; k < kChains; ++k) {
      const auto [low, high] = simd::load_wide_pair(x + i + 2 * k * kWide);
      sums[k] += low;
      squares[k] += low * low;
      sums[k] += high;
      squares[kChains + k] += high * high;
    }
  }
  for (; i + 2 * kWide <= n; i += 2 * kWide) {
    const auto [low, high] = simd::load_wide_pair(x + i);
    sums[0] += low, sums[1] += high;
    squares[0] += low * low, squares[1] += high * high;
  }
  double sum = total(sums), square = total(squares) + total(squares + kChains);
  for (; i < n; ++i) sum += double{x[i]}, square += double{x[i]} * double{x[i]};
  const double count = static_cast<double>(n), mean = sum / count, m2 = square - sum * mean;
  return {count, mean, m2 < 0 ? 0 : m2};  // NaN stays
}

inline Moments of_run(std::int64_t n, const double* x) {
  const double count = static_cast<double>(n), mean = simd::sum(n, x) / count;
  Wide squares[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains * kWide <= n; i += kChains * kWide)
    for (int k = 0; k < kChains; ++k) {
      const Wide away = simd::load(x + i + k * kWide) - mean;
      squares[k] += away * away;
    }
  double square = total(squares);
  for (; i < n; ++i) square += (x[i] - mean) * (x[i] - mean);
  return {count, mean, square};
}

}  // namespace moments_detail

template <class T>
Moments moments(std::int64_t n, const T* x) {
  if (n <= kMomentsRun) return moments_detail::of_run(n, x);
  const std::int64_t runs = (n + kMomentsRun - 1) / kMomentsRun;
  Moments all;
  for (std::int64_t r = 0; r < runs; ++r)
    add_moments(all, moments_detail::of_run(std::min(kMomentsRun, n - r * kMomentsRun), x + r * kMomentsRun));
  return all;
}

// Columns of `rows` rows, `stride` apart, of at most kMomentsColumns columns; out[c] for each column.
inline constexpr std::int64_t kMomentsColumns = 1024;

template <class T>
void column_moments(std::int64_t rows, std::int64_t columns, std::int64_t stride, const T* x, Moments* out) {
  using moments_detail::kWide, moments_detail::Wide;
  constexpr bool kOneWalk = std::is_same_v<T, float>;
  double sums[kMomentsColumns] = {}, squares[kMomentsColumns] = {};
  const double count = static_cast<double>(rows);
  // Adds `high` rows from `a` to the sums, for one visit to them. Several registers of columns at once: the
  // additions to one wait for each other.
  auto add = [&](const T* a, auto high) {
    constexpr int kPair = 2 * kWide;  // a register of fp32
    auto strip = [&](std::int64_t c, auto registers) {
      constexpr int kCount = registers();
      Wide sum[2 * kCount], square[2 * kCount];
      for (int k = 0; k < 2 * kCount; ++k)
        sum[k] = simd::load(sums + c + k * kWide), square[k] = simd::load(squares + c + k * kWide);
      for (int r = 0; r < high(); ++r)
        for (int k = 0; k < kCount; ++k) {
          const simd::WidePair v = simd::load_wide_pair(a + r * stride + c + k * kPair);
          sum[2 * k] += v.low, sum[2 * k + 1] += v.high;
          if constexpr (kOneWalk) square[2 * k] += v.low * v.low, square[2 * k + 1] += v.high * v.high;
        }
      for (int k = 0; k < 2 * kCount; ++k) {
        simd::store(sums + c + k * kWide, sum[k]);
        if constexpr (kOneWalk) simd::store(squares + c + k * kWide, square[k]);
      }
    };
    std::int64_t c = 0;
    for (; c + 4 * kPair <= columns; c += 4 * kPair) strip(c, std::integral_constant<int, 4>{});
    for (; c + kPair <= columns; c += kPair) strip(c, std::integral_constant<int, 1>{});
    for (; c < columns; ++c)
      for (int r = 0; r < high(); ++r) {
        const double v = a[r * stride + c];
        sums[c] += v;
        if constexpr (kOneWalk) squares[c] += v * v;
      }
  };
  std::int64_t r = 0;
  for (; r + 8 <= rows; r += 8) add(x + r * stride, std::integral_constant<int, 8>{});
  for (; r < rows; ++r) add(x + r * stride, std::integral_constant<int, 1>{});
  for (std::int64_t c = 0; c < columns; ++c) sums[c] /= count;
  if constexpr (!kOneWalk)
    for (r = 0; r < rows; ++r)
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c)
        squares[c] += (x[r * stride + c] - sums[c]) * (x[r * stride + c] - sums[c]);
  for (std::int64_t c = 0; c < columns; ++c) {
    const double m2 = kOneWalk ? squares[c] - count * sums[c] * sums[c] : squares[c];
    out[c] = {count, sums[c], m2 < 0 ? 0 : m2};
  }
}

// A number in fp64 as the nearest T and the rest: x - high - low keeps what x - T(mean) would lose.
template <class T>
struct Split {
  T high, low;
  explicit Split(double x) : high(static_cast<T>(x)), low(static_cast<T>(x - double{high})) {}
};

}  // namespace headroom
