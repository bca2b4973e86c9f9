#pragma once

// The inner loops of batch normalisation: over a run of one channel, or over columns with a channel each.

#include <algorithm>
#include <cstdint>

#include "ops/cpu/moments.h"

namespace headroom {

// The mean comes as `high`; what it leaves of the mean is in `shift` already.

// y = (x - high) * factor + shift
template <class T>
void affine(std::int64_t n, const T* x, T* y, T high, T factor, T shift) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - high) * factor + shift;
}

// dx = dy * factor + (x - high) * slope + shift
template <class T>
void affine_grad(std::int64_t n, const T* dy, const T* x, T* dx, T high, T factor, T slope, T shift) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * factor + ((x[i] - high) * slope + shift);
}

template <class T>
void scaled(std::int64_t n, const T* dy, T* dx, T factor) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * factor;
}

// The same with coefficients for each column.
template <class T>
void affine_columns(std::int64_t n, const T* x, T* y, const T* high, const T* factor, const T* shift) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - high[i]) * factor[i] + shift[i];
}

template <class T>
void affine_grad_columns(std::int64_t n, const T* dy, const T* x, T* dx, const T* high, const T* factor,
                         const T* slope, const T* shift) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * factor[i] + ((x[i] - high[i]) * slope[i] + shift[i]);
}

template <class T>
void scaled_columns(std::int64_t n, const T* dy, T* dx, const T* factor) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * factor[i];
}

struct GradientSums {
  double dy = 0, dy_x = 0;  // of dy, and of dy (x - mean)
};

// Gradients are no better than fp32 where x is, so that short sums may be: each lane adds this many numbers
// before it is widened.
inline constexpr int kShortSum = 32;

// The second sum is of dy (x - high).
template <class T>
GradientSums sum_run(std::int64_t n, const T* dy, const T* x, T high) {
  using V = simd::Vec<T>;
  constexpr int kChains = 4, kLanes = simd::kLanes<T>;
  GradientSums all;
  std::int64_t i = 0;
  while (i + kChains * kLanes <= n) {
    const std::int64_t end = std::min(n - kChains * kLanes, i + (kShortSum - 1) * kChains * kLanes);
    V sums[kChains] = {}, products[kChains] = {};
    for (; i <= end; i += kChains * kLanes)
      for (int k = 0; k < kChains; ++k) {
        const V g = simd::load(dy + i + k * kLanes);
        sums[k] += g;
        products[k] += g * (simd::load(x + i + k * kLanes) - high);
      }
    all.dy += double{simd::sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    all.dy_x += double{simd::sum<T>((products[0] + products[1]) + (products[2] + products[3]))};
  }
  for (; i < n; ++i) all.dy += dy[i], all.dy_x += double{dy[i]} * double{x[i] - high};
  return all;
}

template <class T>
void sum_tile(std::int64_t rows, std::int64_t columns, std::int64_t stride, const T* dy, const T* x,
              const T* high, GradientSums* out) {
  for (std::int64_t c = 0; c < columns; ++c) out[c] = {};
  T sums[kMomentsColumns], products[kMomentsColumns];
  for (std::int64_t begin = 0; begin < rows; begin += kShortSum) {
    std::fill_n(sums, columns, T{0}), std::fill_n(products, columns, T{0});
    for (std::int64_t r = begin; r < std::min(rows, begin + kShortSum); ++r) {
      const T* g = dy + r * stride;
      const T* v = x + r * stride;
      std::int64_t c = 0;
      for (; c + simd::kLanes<T> <= columns; c += simd::kLanes<T>) {
        const simd::Vec<T> one = simd::load(g + c), away = simd::load(v + c) - simd::load(high + c);
        simd::store(sums + c, simd::load(sums + c) + one);
        simd::store(products + c, simd::load(products + c) + one * away);
      }
      for (; c < columns; ++c) sums[c] += g[c], products[c] += g[c] * (v[c] - high[c]);
    }
    for (std::int64_t c = 0; c < columns; ++c) out[c].dy += sums[c], out[c].dy_x += products[c];
  }
}

}  // namespace headroom
