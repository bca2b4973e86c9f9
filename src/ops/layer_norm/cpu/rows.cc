// Row by row: forward the moments in one pass and the row in a second, backward the sums over a row and then
// its gradient. Sums over rows are made in chunks of rows, so that their bits do not depend on the threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ops/cpu/moments.h"
#include "ops/cpu/parallel.h"
#include "ops/layer_norm/layer_norm.h"

namespace headroom {
namespace layer_norm_cpu_rows_cc {
namespace {

// Gradients of scale and bias are summed over chunks of rows, which follow from the shape alone.
std::int64_t chunk_rows(const LayerNormProblem& p) { return std::clamp<std::int64_t>(p.rows / 16, 4, 64); }
std::int64_t chunks(const LayerNormProblem& p) { return (p.rows + chunk_rows(p) - 1) / chunk_rows(p); }

// What a row's moments make of it: (x - high) inv + rest, where `rest` is what rounding the mean left.
template <class T>
struct NormalRow {
  T high, inv, rest;

  NormalRow(const LayerNormProblem& p, const LaunchArgs& a, std::int64_t r) {
    const Moments m = moments(p.columns, a.in<T>(0) + r * p.columns);
    const double inv_std = 1 / std::sqrt(m.m2 / m.n + p.epsilon);
    const Split<T> mean(m.mean);
    high = mean.high, inv = static_cast<T>(inv_std), rest = static_cast<T>(-double{mean.low} * inv_std);
    a.out<double>(1)[r] = m.mean;
    a.out<double>(2)[r] = inv_std;
  }
};

// A row is read from memory by its moments and from the cache after that. The next row is measured before
// this one is written: a root and three divisions wait for each other, and other work must fill the time.
Launcher prepare_forward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      using V = simd::Vec<T>;
      const std::int64_t n = p.columns;
      parallel_for(p.rows, kElementwiseGrain / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
        NormalRow<T> next(p, a, begin);
        for (std::int64_t r = begin; r < end; ++r) {
          const NormalRow<T> row = next;
          if (r + 1 < end) next = NormalRow<T>(p, a, r + 1);
          simd::map3(n, a.in<T>(0) + r * n, a.in<T>(1), a.in<T>(2), a.out<T>(0) + r * n,
                     [row](V x, V s, V b) { return ((x - row.high) * row.inv + row.rest) * s + b; });
        }
      });
    };
  });
}

// Sums of dy * scale and of dy * scale * (x - high) over a row, in four chains.
template <class T>
std::pair<T, T> row_sums(std::int64_t n, const T* dy, const T* x, const T* scale, T high) {
  constexpr int kChains = 4, kLanes = simd::kLanes<T>;
  simd::Vec<T> sums[kChains] = {}, products[kChains] = {};
  std::int64_t c = 0;
  for (; c + kChains * kLanes <= n; c += kChains * kLanes) {
    for (int k = 0; k < kChains; ++k) {
      const std::int64_t at = c + k * kLanes;
      const simd::Vec<T> g = simd::load(dy + at) * simd::load(scale + at);
      sums[k] += g;
      products[k] += g * (simd::load(x + at) - high);
    }
  }
  T sum = simd::sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  T product = simd::sum<T>((products[0] + products[1]) + (products[2] + products[3]));
  for (; c < n; ++c) {
    const T g = dy[c] * scale[c];
    sum += g, product += g * (x[c] - high);
  }
  return {sum, product};
}

// dx = dy * scale * inv + (x - high) * slope + shift, and dscale's share is dy * inv * ((x - high) - low).
template <class T>
struct GradientRow {
  const T *dy, *x;
  T* dx;
  T high, low, inv, slope, shift;

  GradientRow(const LayerNormProblem& p, const LaunchArgs& a, std::int64_t r)
      : dy(a.in<T>(0) + r * p.columns), x(a.in<T>(1) + r * p.columns), dx(a.out<T>(0) + r * p.columns) {
    const double inv_std = a.in<double>(4)[r], n = static_cast<double>(p.columns);
    const Split<T> mean(a.in<double>(3)[r]);
    high = mean.high, low = mean.low, inv = static_cast<T>(inv_std);
    const auto [sum, product] = row_sums(p.columns, dy, x, a.in<T>(2), high);
    const double steep = -inv_std * inv_std * inv_std * (double{product} - double{low} * double{sum}) / n;
    slope = static_cast<T>(steep);
    shift = static_cast<T>(-inv_std * double{sum} / n - steep * double{low});
  }
};

// Rows together, so that the sums over rows are read and written once for all of them. Two: rows of a page,
// four of each tensor, would push each other out of the first cache.
template <class T, std::size_t kRows>
void grad_rows(const LayerNormProblem& p, const LaunchArgs& a, const std::array<GradientRow<T>, kRows>& rows,
               T* dscale, T* dbias) {
  const T* scale = a.in<T>(2);
  // With copies of the coefficients, which could otherwise change with each number written.
  auto step = [=]<class V, int kCount>(std::int64_t c) {
    constexpr std::int64_t kLanes = sizeof(V) / sizeof(T);
    V dx[kRows][kCount], scale_sum[kCount], bias_sum[kCount];
    for (int k = 0; k < kCount; ++k) {
      const std::int64_t at = c + k * kLanes;
      const V s = simd::load_as<V>(scale + at);
      scale_sum[k] = simd::load_as<V>(dscale + at), bias_sum[k] = simd::load_as<V>(dbias + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const GradientRow<T>& row = rows[r];
        const V dy = simd::load_as<V>(row.dy + at), scaled = dy * row.inv;
        const V away = simd::load_as<V>(row.x + at) - row.high;
        dx[r][k] = scaled * s + (away * row.slope + row.shift);
        scale_sum[k] += scaled * (away - row.low);
        bias_sum[k] += dy;
      }
    }
    for (int k = 0; k < kCount; ++k) {
      for (std::size_t r = 0; r < kRows; ++r) simd::store(rows[r].dx + c + k * kLanes, dx[r][k]);
      simd::store(dscale + c + k * kLanes, scale_sum[k]);
      simd::store(dbias + c + k * kLanes, bias_sum[k]);
    }
  };
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= p.columns; c += 2 * kLanes) step.template operator()<simd::Vec<T>, 2>(c);
  for (; c + kLanes <= p.columns; c += kLanes) step.template operator()<simd::Vec<T>, 1>(c);
  for (; c < p.columns; ++c) step.template operator()<T, 1>(c);
}

template <class T>
void grad_chunk(const LayerNormProblem& p, const LaunchArgs& a, std::int64_t r, std::int64_t last, T* dscale,
                T* dbias) {
  for (; r + 2 <= last; r += 2)
    grad_rows<T, 2>(p, a, {GradientRow<T>(p, a, r), GradientRow<T>(p, a, r + 1)}, dscale, dbias);
  if (r < last) grad_rows<T, 1>(p, a, {GradientRow<T>(p, a, r)}, dscale, dbias);
}

// out[c] = the sum over chunks of partial[chunk][which][c].
template <class T>
void sum_chunks(const LayerNormProblem& p, int which, const T* partial, T* out) {
  constexpr std::int64_t kBlock = 256;
  parallel_for((p.columns + kBlock - 1) / kBlock, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b * kBlock, count = std::min(kBlock, p.columns - first);
      double sums[kBlock] = {};
      for (std::int64_t k = 0; k < chunks(p); ++k) {
        const T* part = partial + (2 * k + which) * p.columns + first;
#pragma omp simd
        for (std::int64_t c = 0; c < count; ++c) sums[c] += part[c];
      }
      for (std::int64_t c = 0; c < count; ++c) out[first + c] = static_cast<T>(sums[c]);
    }
  });
}

Launcher prepare_backward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      const std::int64_t n = p.columns, step = chunk_rows(p);
      T* partial = static_cast<T*>(a.workspace);
      parallel_for(chunks(p), kElementwiseGrain / (n * step) + 1,
                   [&](std::int64_t begin, std::int64_t end, int) {
                     for (std::int64_t k = begin; k < end; ++k) {
                       T* dscale = partial + 2 * k * n;
                       std::fill_n(dscale, 2 * n, T{0});
                       grad_chunk(p, a, k * step, std::min(p.rows, k * step + step), dscale, dscale + n);
                     }
                   });
      sum_chunks(p, 0, partial, a.out<T>(1));
      sum_chunks(p, 1, partial, a.out<T>(2));
    };
  });
}

std::size_t workspace(const Problem& problem, const Target&) {
  const LayerNormProblem p = layer_norm_problem(problem);
  if (!p.backward) return 0;
  return static_cast<std::size_t>(2 * chunks(p) * p.columns) * size_of(problem.outputs[0].dtype);
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return layer_norm_problem(problem).backward ? prepare_backward(problem) : prepare_forward(problem);
}

}  // namespace
}  // namespace layer_norm_cpu_rows_cc

Kernel layer_norm_cpu_rows() {
  using namespace layer_norm_cpu_rows_cc;
  return {.name = "cpu:rows", .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
