// "cpu:loops": three loops as in a textbook, on one thread. Every product loads two elements, and the one of
// b lies a whole row behind the one before: a new cache line each time.
#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace {

template <class T>
void plain_loops(const GemmProblem& p, const T* a, const T* b, const T* add, T* out) {
  const std::int64_t a_row = p.a_row(), a_k = p.a_k(), b_k = p.b_k(), b_column = p.b_column();
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) sum += a[i * a_row + k * a_k] * b[k * b_k + j * b_column];
      out[i * p.n + j] = gemm_scaled(p, sum, add, i * p.n + j);
    }
}

Work work(const Problem& problem, const Target& target) {
  return gemm_cpu_work(problem, target, "cpu.gemm.loops", 2);
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      plain_loops(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0));
    };
  });
}

}  // namespace

Kernel gemm_cpu_loops() { return {.name = "cpu:loops", .work = work, .prepare = prepare}; }

}  // namespace headroom
