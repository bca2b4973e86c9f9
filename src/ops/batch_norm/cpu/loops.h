#pragma once

// The inner loops of batch normalisation: over a plane of one channel, or over columns with a channel each.

#include <algorithm>
#include <cstdint>

#include "ops/cpu/moments.h"

namespace headroom {

// Calls body<V>(i) for i in [0, n): four registers at once, one, then numbers; ahead(i) before each four.
template <class T, class Body, class Ahead>
inline void each_lane(std::int64_t n, Body body, Ahead ahead) {
  using V = simd::Vec<T>;
  constexpr std::int64_t kStep = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    ahead(i);
    for (int k = 0; k < 4; ++k) body.template operator()<V>(i + k * kStep);
  }
  for (; i + kStep <= n; i += kStep) body.template operator()<V>(i);
  for (; i < n; ++i) body.template operator()<T>(i);
}

// The mean comes as `high`; what it leaves of the mean is in `shift` already.

// y = (x - high) * factor + shift
template <class T>
void affine(std::int64_t n, const T* x, T* y, T high, T factor, T shift) {
  each_lane<T>(
      n,
      [=]<class V>(std::int64_t i) { simd::store(y + i, (simd::load_as<V>(x + i) - high) * factor + shift); },
      [=](std::int64_t i) { simd::fetch_ahead(x + i); });
}

// dx = dy * factor + (x - high) * slope + shift
template <class T>
void affine_grad(std::int64_t n, const T* dy, const T* x, T* dx, T high, T factor, T slope, T shift) {
  each_lane<T>(
      n,
      [=]<class V>(std::int64_t i) {
        const V rest = (simd::load_as<V>(x + i) - high) * slope + shift;
        simd::store(dx + i, simd::load_as<V>(dy + i) * factor + rest);
      },
      [](std::int64_t) {});
}

template <class T>
void scaled(std::int64_t n, const T* dy, T* dx, T factor) {
  simd::map(n, dy, dx, [=](simd::Vec<T> v) { return v * factor; });
}

// The same with coefficients for each column.
template <class T>
void affine_columns(std::int64_t n, const T* x, T* y, const T* high, const T* factor, const T* shift) {
  each_lane<T>(
      n,
      [=]<class V>(std::int64_t i) {
        const V h = simd::load_as<V>(high + i), f = simd::load_as<V>(factor + i),
                s = simd::load_as<V>(shift + i);
        simd::store(y + i, (simd::load_as<V>(x + i) - h) * f + s);
      },
      [=](std::int64_t i) { simd::fetch_ahead(x + i); });
}

template <class T>
void affine_grad_columns(std::int64_t n, const T* dy, const T* x, T* dx, const T* high, const T* factor,
                         const T* slope, const T* shift) {
  each_lane<T>(
      n,
      [=]<class V>(std::int64_t i) {
        const V h = simd::load_as<V>(high + i), f = simd::load_as<V>(factor + i),
                k = simd::load_as<V>(slope + i), s = simd::load_as<V>(shift + i);
        const V rest = (simd::load_as<V>(x + i) - h) * k + s;
        simd::store(dx + i, simd::load_as<V>(dy + i) * f + rest);
      },
      [](std::int64_t) {});
}

template <class T>
void scaled_columns(std::int64_t n, const T* dy, T* dx, const T* factor) {
  each_lane<T>(
      n,
      [=]<class V>(std::int64_t i) {
        const V f = simd::load_as<V>(factor + i);
        simd::store(dx + i, simd::load_as<V>(dy + i) * f);
      },
      [=](std::int64_t i) { simd::fetch_ahead(dy + i); });
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
    for (; i <= end; i += kChains * kLanes) {
      simd::fetch_ahead(dy + i), simd::fetch_ahead(x + i);
      for (int k = 0; k < kChains; ++k) {
        const V g = simd::load(dy + i + k * kLanes);
        sums[k] += g;
        products[k] += g * (simd::load(x + i + k * kLanes) - high);
      }
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
  // Adds `tall` rows from g and v to the sums, for one visit to them. Several registers of columns at once:
  // the additions to one wait for each other.
  auto add = [&](const T* g, const T* v, auto tall) {
    auto strip = [&]<class V, int kCount>(std::int64_t c) {
      constexpr std::int64_t kLanes = sizeof(V) / sizeof(T);
      V sum[kCount], product[kCount], h[kCount];
      for (int k = 0; k < kCount; ++k)
        sum[k] = simd::load_as<V>(sums + c + k * kLanes),
        product[k] = simd::load_as<V>(products + c + k * kLanes),
        h[k] = simd::load_as<V>(high + c + k * kLanes);
      for (int r = 0; r < tall(); ++r)
        for (int k = 0; k < kCount; ++k) {
          const V one = simd::load_as<V>(g + r * stride + c + k * kLanes);
          sum[k] += one;
          product[k] += one * (simd::load_as<V>(v + r * stride + c + k * kLanes) - h[k]);
        }
      for (int k = 0; k < kCount; ++k)
        simd::store(sums + c + k * kLanes, sum[k]), simd::store(products + c + k * kLanes, product[k]);
    };
    constexpr std::int64_t kStep = simd::kLanes<T>;
    std::int64_t c = 0;
    for (; c + 4 * kStep <= columns; c += 4 * kStep) strip.template operator()<simd::Vec<T>, 4>(c);
    for (; c + kStep <= columns; c += kStep) strip.template operator()<simd::Vec<T>, 1>(c);
    for (; c < columns; ++c) strip.template operator()<T, 1>(c);
  };
  for (std::int64_t begin = 0; begin < rows; begin += kShortSum) {
    std::fill_n(sums, columns, T{0}), std::fill_n(products, columns, T{0});
    const std::int64_t end = std::min(rows, begin + kShortSum);
    std::int64_t r = begin;
    for (; r + 8 <= end; r += 8) add(dy + r * stride, x + r * stride, std::integral_constant<int, 8>{});
    for (; r < end; ++r) add(dy + r * stride, x + r * stride, std::integral_constant<int, 1>{});
    for (std::int64_t c = 0; c < columns; ++c) out[c].dy += sums[c], out[c].dy_x += products[c];
  }
}

}  // namespace headroom
