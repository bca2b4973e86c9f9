// "cpu:packed": the product of the networks' own kernels. It adds to what the output holds: c is copied there
// first.
#include "ops/cpu/gemm.h"
#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace gemm_cpu_packed_cc {
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      if (p.adds()) gemm_copy_all(p.m * p.n, args.in<T>(2), args.out<T>(0));
      gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, static_cast<T>(p.alpha), args.in<T>(0), p.lda, args.in<T>(1),
           p.ldb, static_cast<T>(p.beta), args.out<T>(0), p.n);
    };
  });
}

}  // namespace
}  // namespace gemm_cpu_packed_cc

Kernel gemm_cpu_packed() {
  using namespace gemm_cpu_packed_cc;
  return {.name = "cpu:packed", .work = gemm_in_place_work, .prepare = prepare};
}

}  // namespace headroom
