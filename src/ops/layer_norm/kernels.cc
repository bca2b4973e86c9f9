#include <array>
#include <cmath>
#include <utility>

#include "ops/cpu/moments.h"
#include "ops/cpu/parallel.h"
#include "ops/layer_norm/cuda_shape.h"
#include "ops/layer_norm/layer_norm.h"

namespace headroom {
namespace {

template <class T>
void reference_row(std::int64_t n, double epsilon, const T* x, const T* scale, const T* bias, T* y,
                   double& mean, double& inv_std) {
  long double sum = 0, squares = 0;  // wider than any kernel's
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  mean = static_cast<double>(sum / n);
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  inv_std = 1 / std::sqrt(static_cast<double>(squares / n) + epsilon);
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>((x[i] - mean) * inv_std * scale[i] + bias[i]);
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t r = 0; r < p.rows; ++r)
        reference_row(p.columns, p.epsilon, a.in<T>(0) + r * p.columns, a.in<T>(1), a.in<T>(2),
                      a.out<T>(0) + r * p.columns, a.out<double>(1)[r], a.out<double>(2)[r]);
    };
  });
}

Launcher reference_grad(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      const T* dy = a.in<T>(0);
      const T* scale = a.in<T>(2);
      const std::int64_t n = p.columns;
      auto normal = [&](std::int64_t r, std::int64_t c) {
        return (a.in<T>(1)[r * n + c] - a.in<double>(3)[r]) * a.in<double>(4)[r];
      };
      for (std::int64_t r = 0; r < p.rows; ++r) {
        long double sum = 0, product = 0;
        for (std::int64_t c = 0; c < n; ++c) {
          const double g = double{dy[r * n + c]} * scale[c];
          sum += g, product += g * normal(r, c);
        }
        for (std::int64_t c = 0; c < n; ++c)
          a.out<T>(0)[r * n + c] =
              static_cast<T>(a.in<double>(4)[r] *
                             (double{dy[r * n + c]} * scale[c] -
                              static_cast<double>(sum + normal(r, c) * product) / static_cast<double>(n)));
      }
      for (std::int64_t c = 0; c < n; ++c) {
        long double dscale = 0, dbias = 0;
        for (std::int64_t r = 0; r < p.rows; ++r)
          dscale += dy[r * n + c] * normal(r, c), dbias += dy[r * n + c];
        a.out<T>(1)[c] = static_cast<T>(dscale), a.out<T>(2)[c] = static_cast<T>(dbias);
      }
    };
  });
}

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
Launcher rows(const Problem& problem, const LaunchContext&) {
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
      for (std::int64_t k = 0; k < p.chunks(); ++k) {
        const T* part = partial + (2 * k + which) * p.columns + first;
#pragma omp simd
        for (std::int64_t c = 0; c < count; ++c) sums[c] += part[c];
      }
      for (std::int64_t c = 0; c < count; ++c) out[first + c] = static_cast<T>(sums[c]);
    }
  });
}

std::size_t workspace_grad(const Problem& problem, const Target&) {
  const LayerNormProblem p = layer_norm_problem(problem);
  return static_cast<std::size_t>(2 * p.chunks() * p.columns) * size_of(problem.outputs[0].dtype);
}

Launcher rows_grad(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      const std::int64_t n = p.columns, step = p.chunk_rows();
      T* partial = static_cast<T*>(a.workspace);
      parallel_for(p.chunks(), kElementwiseGrain / (n * step) + 1,
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

std::size_t workspace_grad_cuda(const Problem& problem, const Target&) {
  const LayerNormProblem p = layer_norm_problem(problem);
  const std::size_t bytes = problem.outputs[0].dtype == DType::f64 ? 8 : 4;
  return static_cast<std::size_t>(2 * cuda::layer_norm_parts(p.rows, p.columns) * p.columns) * bytes;
}

// The sums over rows read dy and x again.
Work work_grad_cuda(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  return work.add_pass(static_cast<double>(2 * problem.inputs[0].bytes()), 2);
}

double row_length(const Problem& p) { return static_cast<double>(layer_norm_problem(p).columns); }

std::vector<Case> cases(bool gradient) {
  std::vector<Case> list;
  auto add = [&](Tier tier, const Shape& x, std::int64_t axis) {
    const auto from = axis < 0 ? axis + x.rank() : axis;
    std::vector<std::int64_t> dims = x.vector(), row(dims.begin() + from, dims.end());
    std::fill(dims.begin() + from, dims.end(), 1);
    const Shape tail(row), saved(dims);
    Case c{.tier = tier, .inputs = {x, tail, tail}, .attrs = {{"axis", axis}}};
    if (gradient)
      c.inputs = {x, x, tail, saved, saved}, c.fills = {{}, {}, {}, {}, {Fill::Kind::positive}},
      c.dtypes = {{}, {}, {}, DType::f64, DType::f64};
    list.push_back(std::move(c));
  };
  add(Tier::ci, {2}, -1);
  add(Tier::ci, {4, 1}, -1);
  add(Tier::ci, {3, 5}, -1);
  add(Tier::ci, {70, 16}, 1);
  add(Tier::ci, {2, 3, 37}, -1);
  add(Tier::ci, {4, 3, 5, 7}, 1);
  add(Tier::ci, {3, 4, 6}, -2);
  add(Tier::ci, {6, 7}, 0);
  add(Tier::smoke, {2, 9000}, -1);
  add(Tier::smoke, {3, 4501}, -1);
  add(Tier::smoke, {300, 64}, -1);
  add(Tier::smoke, {1200, 67}, -1);
  add(Tier::perf, {4096, 1024}, -1);
  add(Tier::perf, {512, 512}, -1);
  return list;
}

}  // namespace

std::vector<Operator> layer_norm_operators() {
  return {{.schema = layer_norm_schema(),
           .kernels = {{.name = "cuda:rows",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_layer_norm_cuda)},
                       {.name = "cpu:rows", .prepare = rows},
                       {.name = "reference", .prepare = reference}},
           .cases = cases(false),
           .sum_length = row_length},
          {.schema = layer_norm_grad_schema(),
           .kernels = {{.name = "cuda:rows",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .work = work_grad_cuda,
                        .prepare = HEADROOM_CUDA(prepare_layer_norm_grad_cuda),
                        .workspace = workspace_grad_cuda},
                       {.name = "cpu:rows", .prepare = rows_grad, .workspace = workspace_grad},
                       {.name = "reference", .prepare = reference_grad}},
           .cases = cases(true),
           .sum_length = row_length}};
}

}  // namespace headroom
