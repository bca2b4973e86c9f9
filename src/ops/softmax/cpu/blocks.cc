// Forward along the last axis: blocks of rows, so that the exponential runs over one long stretch.
#include <algorithm>
#include <cmath>

#include "ops/cpu/parallel.h"
#include "ops/softmax/cpu/exp_rows.h"
#include "ops/softmax/cpu/last_axis.h"

namespace headroom {
namespace softmax_cpu_blocks_cc {
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

Launcher prepare(const Problem& problem, const LaunchContext&) {
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

}  // namespace
}  // namespace softmax_cpu_blocks_cc

Kernel softmax_cpu_blocks() {
  using namespace softmax_cpu_blocks_cc;
  return {.name = "cpu:blocks", .accepts = softmax_along_last_axis, .prepare = prepare};
}

}  // namespace headroom
