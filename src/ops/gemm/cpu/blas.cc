// "cpu:blas": by the matrix library, which adds to what the output holds: c is copied there first.
#include <cstring>

#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace {

template <class T>
void copy_all(std::int64_t count, const T* from, T* to) {
  parallel_for(count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  });
}

Work work(const Problem& problem, const Target& target) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype), {p.m, p.n, p.k});
  if (p.adds()) work.add_bytes(2 * double(problem.outputs[0].bytes()));
  return work;
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      if (p.adds()) copy_all(p.m * p.n, args.in<T>(2), args.out<T>(0));
      gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, static_cast<T>(p.alpha), args.in<T>(0), p.lda, args.in<T>(1),
           p.ldb, static_cast<T>(p.beta), args.out<T>(0), p.n);
    };
  });
}

}  // namespace

Kernel gemm_cpu_blas() { return {.name = "cpu:blas", .work = work, .prepare = prepare}; }

}  // namespace headroom
