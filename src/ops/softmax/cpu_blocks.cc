// Along the last axis, where lines are contiguous.
#include <algorithm>
#include <cmath>

#include "ops/cpu/parallel.h"
#include "ops/cpu/reduce.h"
#include "ops/cpu/vmath.h"
#include "ops/softmax/softmax.h"

namespace headroom {
namespace {

template <class T>
void scale_row(std::int64_t n, T sum, T* y) {
  const T scale = T{1} / sum;
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) y[c] *= scale;
}

// The exponentials have done their work; the logarithm starts again from x, which is still in cache.
template <class T>
void shift_row(std::int64_t n, const T* x, T most, T sum, T* y) {
  const T log_sum = std::log(sum);
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) y[c] = (x[c] - most) - log_sum;
}

}  // namespace

Verdict softmax_along_rows(const Problem& problem, const Target& target) {
  if (softmax_problem(problem).inner != 1) return refuse("takes the last axis only");
  return accepts_cpu_floats(problem, target);
}

Launcher softmax_blocks(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = softmax_problem(problem)](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      const std::int64_t n = p.length, step = block_rows(n);
      parallel_for(p.outer, 2048 / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
        T maxima[kMaxBlockRows], sums[kMaxBlockRows];
        for (std::int64_t r = begin; r < end; r += step) {
          const std::int64_t count = std::min(step, end - r);
          exp_rows(count, n, x + r * n, y + r * n, maxima, sums);
          for (std::int64_t k = 0; k < count; ++k)
            if (p.log)
              shift_row(n, x + (r + k) * n, maxima[k], sums[k], y + (r + k) * n);
            else
              scale_row(n, sums[k], y + (r + k) * n);
        }
      });
    };
  });
}

Launcher softmax_grad_rows(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = softmax_problem(problem)](const LaunchArgs& a) {
      using simd::Vec;
      const std::int64_t n = p.length;
      parallel_for(p.outer, kElementwiseGrain / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* dy = a.in<T>(0) + r * n;
          const T* y = a.in<T>(1) + r * n;
          T* dx = a.out<T>(0) + r * n;
          const T total = p.log ? simd::sum(n, dy) : simd::dot(n, dy, y);
          if (p.log)
            simd::map2(n, dy, y, dx, [=](Vec<T> g, Vec<T> v) { return g - simd::exp<T>(v) * total; });
          else
            simd::map2(n, dy, y, dx, [=](Vec<T> g, Vec<T> v) { return v * (g - total); });
        }
      });
    };
  });
}

}  // namespace headroom
