// Gradients along the last axis, a row at a time.
#include "ops/cpu/parallel.h"
#include "ops/cpu/reduce.h"
#include "ops/cpu/vmath.h"
#include "ops/softmax/cpu/last_axis.h"

namespace headroom {
namespace softmax_cpu_rows_cc {
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
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

}  // namespace
}  // namespace softmax_cpu_rows_cc

Kernel softmax_cpu_rows() {
  using namespace softmax_cpu_rows_cc;
  return {.name = "cpu:rows", .accepts = softmax_along_last_axis, .prepare = prepare};
}

}  // namespace headroom
