#pragma once

// Mean and variance of many numbers in fp64. Runs of fixed length are measured each by itself and then
// joined, so that neither a mean far from zero nor the number of threads shows in the result.

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace headroom {

struct Moments {
  double n = 0, mean = 0;
  double m2 = 0;  // sum of squared deviations from the mean
};

// The moments of the union of parts, each `part(i)` for i in [0, count). Two walks instead of one division a
// part.
template <class Part>
Moments join_moments(std::int64_t count, Part&& part) {
  Moments all;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Moments m = part(i);
    all.n += m.n;
    sum += m.n * m.mean;
  }
  all.mean = sum / all.n;
  for (std::int64_t i = 0; i < count; ++i) {
    const Moments m = part(i);
    const double away = m.mean - all.mean;
    all.m2 += m.m2 + m.n * away * away;
  }
  return all;
}

inline constexpr std::int64_t kMomentsRun = 4096;  // stays in the first cache for a second walk

namespace moments_detail {

// Sixteen independent sums of f(x[i]): one alone would wait for each addition.
template <class T, class F>
inline double sum_of(std::int64_t n, const T* x, F&& f) {
  double part[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
#pragma omp simd
    for (std::int64_t k = 0; k < 16; ++k) part[k] += f(double{x[i + k]});
  double sum = 0;
  for (double p : part) sum += p;
  for (; i < n; ++i) sum += f(double{x[i]});
  return sum;
}

// Squares of fp32 are exact in fp64 and leave 29 bits for cancellation: one walk is enough.
inline Moments of_run(std::int64_t n, const float* x) {
  double sums[16] = {}, squares[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
#pragma omp simd
    for (std::int64_t k = 0; k < 16; ++k) {
      const double v = x[i + k];
      sums[k] += v;
      squares[k] += v * v;
    }
  double sum = 0, square = 0;
  for (int k = 0; k < 16; ++k) sum += sums[k], square += squares[k];
  for (; i < n; ++i) sum += double{x[i]}, square += double{x[i]} * double{x[i]};
  const double count = static_cast<double>(n), mean = sum / count, m2 = square - sum * mean;
  return {count, mean, m2 < 0 ? 0 : m2};  // NaN stays
}

inline Moments of_run(std::int64_t n, const double* x) {
  const double count = static_cast<double>(n);
  const double mean = sum_of(n, x, [](double v) { return v; }) / count;
  return {count, mean, sum_of(n, x, [mean](double v) { return (v - mean) * (v - mean); })};
}

}  // namespace moments_detail

template <class T>
Moments moments(std::int64_t n, const T* x) {
  if (n <= kMomentsRun) return moments_detail::of_run(n, x);
  const std::int64_t runs = (n + kMomentsRun - 1) / kMomentsRun;
  Moments all;
  for (std::int64_t r = 0; r < runs; ++r) {
    const Moments m = moments_detail::of_run(std::min(kMomentsRun, n - r * kMomentsRun), x + r * kMomentsRun);
    const double away = m.mean - all.mean, total = all.n + m.n;
    all.m2 += m.m2 + away * away * all.n * m.n / total;
    all.mean += away * m.n / total;
    all.n = total;
  }
  return all;
}

// Columns of `rows` rows, `stride` apart, of at most kMomentsColumns columns; out[c] for each column.
inline constexpr std::int64_t kMomentsColumns = 256;

template <class T>
void column_moments(std::int64_t rows, std::int64_t columns, std::int64_t stride, const T* x, Moments* out) {
  double sums[kMomentsColumns] = {}, squares[kMomentsColumns] = {};
  const double count = static_cast<double>(rows);
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {  // four rows for each visit to the sums
    const T* a = x + r * stride;
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) {
      const double v0 = a[c], v1 = a[c + stride], v2 = a[c + 2 * stride], v3 = a[c + 3 * stride];
      sums[c] += (v0 + v1) + (v2 + v3);
      if constexpr (std::is_same_v<T, float>) squares[c] += (v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3);
    }
  }
  for (; r < rows; ++r)
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) {
      const double v = x[r * stride + c];
      sums[c] += v;
      if constexpr (std::is_same_v<T, float>) squares[c] += v * v;
    }
  if constexpr (std::is_same_v<T, double>)
    for (r = 0; r < rows; ++r)
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        const double away = x[r * stride + c] - sums[c] / count;
        squares[c] += away * away;
      }
  for (std::int64_t c = 0; c < columns; ++c) {
    const double mean = sums[c] / count;
    const double m2 = std::is_same_v<T, float> ? squares[c] - sums[c] * mean : squares[c];
    out[c] = {count, mean, m2 < 0 ? 0 : m2};
  }
}

// A number in fp64 as the nearest T and the rest: x - high - low keeps what x - T(mean) would lose.
template <class T>
struct Split {
  T high, low;
  explicit Split(double x) : high(static_cast<T>(x)), low(static_cast<T>(x - double{high})) {}
};

}  // namespace headroom
