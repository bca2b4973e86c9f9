#include <algorithm>
#include <limits>

#include "ops/adaptive_pool/adaptive_pool.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/reduce.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace adaptive_pool_cpu_rows_cc {
namespace {

constexpr std::int64_t kBuffer = 2048;  // elements of one row of the input

template <class T>
T larger(T best, T next) {
  return exceeds(next, best) ? next : best;
}

// The maximum of n elements in a row; four vectors at a time, as a comparison takes some cycles to answer.
template <class T>
T maximum(std::int64_t n, const T* x) {
  using V = simd::Vec<T>;
  constexpr int kLanes = simd::kLanes<T>;
  auto pick = [](V best, V next) { return (next > best) | (next != next) ? next : best; };
  T best = x[0];
  std::int64_t i = 0;
  if (n >= 4 * kLanes) {
    V part[4];
    for (int k = 0; k < 4; ++k) part[k] = simd::load(x + k * kLanes);
    for (i = 4 * kLanes; i + 4 * kLanes <= n; i += 4 * kLanes)
      for (int k = 0; k < 4; ++k) part[k] = pick(part[k], simd::load(x + i + k * kLanes));
    const V all = pick(pick(part[0], part[1]), pick(part[2], part[3]));
    for (int k = 0; k < kLanes; ++k) best = larger(best, T{all[k]});
  }
  for (; i < n; ++i) best = larger(best, x[i]);
  return best;
}

// Where `value`, which is there, stands first, in blocks that are searched only when they hold it. NaN finds
// NaN.
template <class T>
std::int64_t find(std::int64_t n, const T* x, T value) {
  constexpr std::int64_t kBlock = 64;
  std::int64_t i = 0;
  if (value != value) {
    while (x[i] == x[i]) ++i;
    return i;
  }
  for (; i + kBlock <= n; i += kBlock) {
    int hits = 0;
#pragma omp simd reduction(+ : hits)
    for (std::int64_t k = 0; k < kBlock; ++k) hits += x[i + k] == value ? 1 : 0;
    if (hits > 0) break;
  }
  while (x[i] != value) ++i;
  return i;
}

template <class T, class Combine>
void fold_rows(std::int64_t rows, std::int64_t width, const T* x, T* out, Combine&& combine) {
  std::copy_n(x, width, out);
  for (std::int64_t r = 1; r < rows; ++r)
#pragma omp simd
    for (std::int64_t w = 0; w < width; ++w) out[w] = combine(out[w], x[r * width + w]);
}

// Calls body(plane, i, output row) for each output row, among threads.
template <class Body>
void each_output_row(const AdaptiveProblem& p, Body&& body) {
  const std::int64_t work = p.input_plane() / p.rows.output;
  parallel_for(p.planes * p.rows.output, kElementwiseGrain / (work + p.columns.output) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t r = begin; r < end; ++r) body(r / p.rows.output, r % p.rows.output, r);
               });
}

template <class Body>
void each_plane(const AdaptiveProblem& p, Body&& body) {
  parallel_for(p.planes, kElementwiseGrain / (p.input_plane() + p.output_plane()) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
               });
}

template <class T>
void avg_row(const AdaptiveProblem& p, const T* plane, std::int64_t i, T* y) {
  T buffer[kBuffer];
  const std::int64_t first = p.rows.begin(i), rows = p.rows.end(i) - first, width = p.columns.input;
  fold_rows(rows, width, plane + first * width, buffer, [](T a, T b) { return a + b; });
  for (std::int64_t j = 0; j < p.columns.output; ++j) {
    const std::int64_t begin = p.columns.begin(j), end = p.columns.end(j);
    T sum = 0;
    for (std::int64_t w = begin; w < end; ++w) sum += buffer[w];
    y[j] = sum / static_cast<T>(rows * (end - begin));
  }
}

template <class T>
void max_row(const AdaptiveProblem& p, const T* plane, std::int64_t i, T* y) {
  T buffer[kBuffer];
  const std::int64_t first = p.rows.begin(i), width = p.columns.input;
  fold_rows(p.rows.end(i) - first, width, plane + first * width, buffer, larger<T>);
  for (std::int64_t j = 0; j < p.columns.output; ++j) {
    T best = buffer[p.columns.begin(j)];
    for (std::int64_t w = p.columns.begin(j) + 1; w < p.columns.end(j); ++w) best = larger(best, buffer[w]);
    y[j] = best;
  }
}

// Every window's share is spread over a row, which is then added to the rows of the window.
template <class T>
void avg_grad_plane(const AdaptiveProblem& p, const T* dy, T* dx) {
  T buffer[kBuffer];
  const std::int64_t width = p.columns.input;
  std::fill_n(dx, p.input_plane(), T{0});
  for (std::int64_t i = 0; i < p.rows.output; ++i) {
    const std::int64_t rows = p.rows.end(i) - p.rows.begin(i);
    std::fill_n(buffer, width, T{0});
    for (std::int64_t j = 0; j < p.columns.output; ++j) {
      const std::int64_t begin = p.columns.begin(j), end = p.columns.end(j);
      const T share = dy[i * p.columns.output + j] / static_cast<T>(rows * (end - begin));
      for (std::int64_t w = begin; w < end; ++w) buffer[w] += share;
    }
    for (std::int64_t h = p.rows.begin(i); h < p.rows.end(i); ++h)
#pragma omp simd
      for (std::int64_t w = 0; w < width; ++w) dx[h * width + w] += buffer[w];
  }
}

template <class T>
void max_grad_plane(const AdaptiveProblem& p, const T* dy, const T* x, T* dx) {
  std::fill_n(dx, p.input_plane(), T{0});
  for (std::int64_t i = 0; i < p.rows.output; ++i)
    for (std::int64_t j = 0; j < p.columns.output; ++j) {
      const std::int64_t begin = p.columns.begin(j), end = p.columns.end(j);
      std::int64_t best = p.rows.begin(i) * p.columns.input + begin;
      T top = x[best];
      for (std::int64_t h = p.rows.begin(i); h < p.rows.end(i); ++h)
        for (std::int64_t at = h * p.columns.input + begin; at < h * p.columns.input + end; ++at)
          if (exceeds(x[at], top)) top = x[best = at];
      dx[best] += dy[i * p.columns.output + j];
    }
}

}  // namespace
}  // namespace adaptive_pool_cpu_rows_cc

Verdict accepts_adaptive_rows(const Problem& problem, const Target& target) {
  using namespace adaptive_pool_cpu_rows_cc;
  const AdaptiveProblem p = adaptive_problem(problem);
  if (!p.global() && p.columns.input > kBuffer)
    return refuse(fmt::format("rows of more than {} elements", kBuffer));
  return accepts_cpu_floats(problem, target);
}

Launcher adaptive_avg_rows(const Problem& problem, const LaunchContext&) {
  using namespace adaptive_pool_cpu_rows_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = adaptive_problem(problem)](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      const std::int64_t n = p.input_plane();
      if (p.global())
        each_plane(p,
                   [&](std::int64_t plane) { y[plane] = simd::sum(n, x + plane * n) / static_cast<T>(n); });
      else
        each_output_row(p, [&](std::int64_t plane, std::int64_t i, std::int64_t row) {
          avg_row(p, x + plane * n, i, y + row * p.columns.output);
        });
    };
  });
}

Launcher adaptive_max_rows(const Problem& problem, const LaunchContext&) {
  using namespace adaptive_pool_cpu_rows_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = adaptive_problem(problem)](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      const std::int64_t n = p.input_plane();
      if (p.global())
        each_plane(p, [&](std::int64_t plane) { y[plane] = maximum(n, x + plane * n); });
      else
        each_output_row(p, [&](std::int64_t plane, std::int64_t i, std::int64_t row) {
          max_row(p, x + plane * n, i, y + row * p.columns.output);
        });
    };
  });
}

Launcher adaptive_avg_grad_rows(const Problem& problem, const LaunchContext&) {
  using namespace adaptive_pool_cpu_rows_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = adaptive_problem(problem)](const LaunchArgs& a) {
      const std::int64_t n = p.input_plane();
      each_plane(p, [&](std::int64_t plane) {
        const T* dy = a.in<T>(0) + plane * p.output_plane();
        T* dx = a.out<T>(0) + plane * n;
        if (p.global())
          std::fill_n(dx, n, *dy / static_cast<T>(n));
        else
          avg_grad_plane(p, dy, dx);
      });
    };
  });
}

Launcher adaptive_max_grad_planes(const Problem& problem, const LaunchContext&) {
  using namespace adaptive_pool_cpu_rows_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = adaptive_problem(problem)](const LaunchArgs& a) {
      const std::int64_t n = p.input_plane();
      each_plane(p, [&](std::int64_t plane) {
        const T *dy = a.in<T>(0) + plane * p.output_plane(), *x = a.in<T>(1) + plane * n;
        T* dx = a.out<T>(0) + plane * n;
        if (!p.global()) return max_grad_plane(p, dy, x, dx);
        std::fill_n(dx, n, T{0});
        dx[find(n, x, maximum(n, x))] = *dy;
      });
    };
  });
}

}  // namespace headroom
