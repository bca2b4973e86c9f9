// Products by the matrix library: a team inside each, or each by one of a team. The slope in a pass behind.
#include "ops/cpu/blas.h"

#include "ops/activation/after_gemm.h"
#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/cpu/gemm_work.h"

namespace headroom {
namespace matmul_cpu_blas_cc {
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = folded_matmul(problem), slope = matmul_slope(problem.attrs)](const LaunchArgs& args) {
      const T* y = slope == Activation::none ? nullptr : args.in<T>(2);
      each_product<T>(p, args, [&](const T* a, const T* b, T* c, std::int64_t i) {
        blas_gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, T{1}, a, p.lda, b, p.ldb, T{0}, c, p.n,
                  times_slope(slope, y == nullptr ? y : y + i * p.m * p.n, p.n));
      });
    };
  });
}

Work work(const Problem& problem, const Target& target) {
  Work work = matmul_gemm_work(problem, target);
  if (matmul_slope(problem.attrs) != Activation::none) work.add_bytes(2 * double(problem.outputs[0].bytes()));
  return work;
}

}  // namespace
}  // namespace matmul_cpu_blas_cc

Kernel matmul_cpu_blas() {
  using namespace matmul_cpu_blas_cc;
  return {.name = "cpu:blas", .work = work, .prepare = prepare, .vendor = true};
}

}  // namespace headroom
