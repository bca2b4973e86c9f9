// "cpu:row_vectors": the loops in another order, on one thread: a row of the output grows by multiples of
// rows of b. Neighbours of both lie side by side, so that the compiler's vectors do several products at once;
// the sums are in the first-level cache, loaded and stored for each product.
#include <algorithm>

#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace gemm_cpu_row_vectors_cc {
namespace {

template <class T>
void grow_rows(const GemmProblem& p, const T* a, const T* b, const T* add, T* out) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    T* const row = out + i * p.n;
    std::fill(row, row + p.n, T{0});
    for (std::int64_t k = 0; k < p.k; ++k) {
      const T factor = a[i * p.a_row() + k * p.a_k()];
      const T* const from = b + k * p.b_k();
      if (const std::int64_t step = p.b_column(); step == 1)
        for (std::int64_t j = 0; j < p.n; ++j) row[j] += factor * from[j];
      else
        for (std::int64_t j = 0; j < p.n; ++j) row[j] += factor * from[j * step];
    }
    for (std::int64_t j = 0; j < p.n; ++j) row[j] = gemm_scaled(p, row[j], add, i * p.n + j);
  }
}

// An element of b, and a sum that is loaded and stored.
Work row_vectors_work(const Problem& problem, const Target& target) {
  return gemm_cpu_work(problem, target, "cpu.gemm.row_vectors", 3);
}

Launcher prepare_row_vectors(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      grow_rows(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0));
    };
  });
}

}  // namespace
}  // namespace gemm_cpu_row_vectors_cc

Kernel gemm_cpu_row_vectors() {
  using namespace gemm_cpu_row_vectors_cc;
  return {.name = "cpu:row_vectors", .work = row_vectors_work, .prepare = prepare_row_vectors};
}

}  // namespace headroom
