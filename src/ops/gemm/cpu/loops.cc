// "cpu:loops": three loops as in a textbook, on one thread. Every product loads two elements, and the one of
// b lies a whole row behind the one before: a new cache line each time. "cpu:loops_threaded": the same loops,
// a share of the rows for each thread; "bench gemm" shows by it what threads are worth alone.
#include "ops/cpu/parallel.h"
#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace gemm_cpu_loops_cc {
namespace {

template <class T>
void plain_loops(const GemmProblem& p, const T* a, const T* b, const T* add, T* out, std::int64_t first_row,
                 std::int64_t rows_end) {
  const std::int64_t a_row = p.a_row(), a_k = p.a_k(), b_k = p.b_k(), b_column = p.b_column();
  for (std::int64_t i = first_row; i < rows_end; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) sum += a[i * a_row + k * a_k] * b[k * b_k + j * b_column];
      out[i * p.n + j] = gemm_scaled(p, sum, add, i * p.n + j);
    }
}

template <bool kThreads>
Work work(const Problem& problem, const Target& target) {
  return gemm_cpu_work(problem, target, kThreads ? "cpu.gemm.loops_threaded" : "cpu.gemm.loops", 2);
}

template <bool kThreads>
Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      const auto rows = [&](std::int64_t begin, std::int64_t end, int) {
        plain_loops(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0),
                    begin, end);
      };
      if (kThreads)
        parallel_for(p.m, 1, rows);
      else
        rows(0, p.m, 0);
    };
  });
}

}  // namespace
}  // namespace gemm_cpu_loops_cc

Kernel gemm_cpu_loops() {
  using namespace gemm_cpu_loops_cc;
  return {.name = "cpu:loops", .work = work<false>, .prepare = prepare<false>};
}

Kernel gemm_cpu_loops_threaded() {
  using namespace gemm_cpu_loops_cc;
  return {.name = "cpu:loops_threaded", .work = work<true>, .prepare = prepare<true>};
}

}  // namespace headroom
