#pragma once

// The inner loops of batch normalisation: over a run of one channel, or over columns with a channel each.

#include <cstdint>
#include <type_traits>

#include "ops/cpu/moments.h"

namespace headroom {

// y = ((x - high) - low) * factor + shift, with one set of coefficients or one for each column.
template <bool kEach, class T>
void affine(std::int64_t n, const T* x, T* y, const T* high, const T* low, const T* factor, const T* shift) {
  const T h = *high, l = *low, f = *factor, b = *shift;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = ((x[i] - (kEach ? high[i] : h)) - (kEach ? low[i] : l)) * (kEach ? factor[i] : f) +
           (kEach ? shift[i] : b);
}

// dx = dy * factor + ((x - high) - low) * slope + shift
template <bool kEach, class T>
void affine_grad(std::int64_t n, const T* dy, const T* x, T* dx, const T* high, const T* low, const T* factor,
                 const T* slope, const T* shift) {
  const T h = *high, l = *low, f = *factor, g = *slope, b = *shift;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = dy[i] * (kEach ? factor[i] : f) + (kEach ? shift[i] : b) +
            ((x[i] - (kEach ? high[i] : h)) - (kEach ? low[i] : l)) * (kEach ? slope[i] : g);
}

template <bool kEach, class T>
void scaled(std::int64_t n, const T* dy, T* dx, const T* factor) {
  const T f = *factor;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * (kEach ? factor[i] : f);
}

struct GradientSums {
  double dy = 0, dy_x = 0;  // of dy, and of dy (x - mean)
};

template <class T>
GradientSums sum_run(std::int64_t n, const T* dy, const T* x, double mean) {
  using Wide = simd::Vec<double>;
  constexpr int kChains = 4, kWide = simd::kLanes<double>;
  Wide sums[kChains] = {}, products[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains * kWide <= n; i += kChains * kWide)
    for (int k = 0; k < kChains; ++k) {
      const Wide g = simd::load_wide(dy + i + k * kWide);
      sums[k] += g;
      products[k] += g * (simd::load_wide(x + i + k * kWide) - mean);
    }
  GradientSums all;
  for (int k = 0; k < kChains; ++k)
    all.dy += simd::sum<double>(sums[k]), all.dy_x += simd::sum<double>(products[k]);
  for (; i < n; ++i) all.dy += dy[i], all.dy_x += double{dy[i]} * (double{x[i]} - mean);
  return all;
}

template <class T>
void sum_tile(std::int64_t rows, std::int64_t columns, std::int64_t stride, const T* dy, const T* x,
              const T* high, const T* low, GradientSums* out) {
  using Wide = simd::Vec<double>;
  constexpr int kWide = simd::kLanes<double>;
  double sums[kMomentsColumns] = {}, products[kMomentsColumns] = {};
  // Adds some rows from element `at` on, for one visit to the sums.
  auto add = [&](std::int64_t at, auto count) {
    std::int64_t c = 0;
    for (; c + kWide <= columns; c += kWide) {
      const Wide mean = simd::load_wide(high + c) + simd::load_wide(low + c);
      Wide sum = simd::load(sums + c), product = simd::load(products + c);
      for (int r = 0; r < count(); ++r) {
        const Wide g = simd::load_wide(dy + at + r * stride + c);
        sum += g;
        product += g * (simd::load_wide(x + at + r * stride + c) - mean);
      }
      simd::store(sums + c, sum);
      simd::store(products + c, product);
    }
    for (; c < columns; ++c)
      for (int r = 0; r < count(); ++r) {
        const std::int64_t i = at + r * stride + c;
        sums[c] += dy[i];
        products[c] += double{dy[i]} * (double{x[i]} - (double{high[c]} + double{low[c]}));
      }
  };
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) add(r * stride, std::integral_constant<int, 4>{});
  for (; r < rows; ++r) add(r * stride, std::integral_constant<int, 1>{});
  for (std::int64_t c = 0; c < columns; ++c) out[c] = {sums[c], products[c]};
}

}  // namespace headroom
