// Products by the matrix library: a team inside each, or each by one of a team. The slope in a pass behind.
#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/matmul/cpu/gemm_work.h"

namespace headroom {
namespace {

// In place, after the product: what sigmoid_grad and its like do.
template <class T>
void finish_slope(Activation slope, std::int64_t n, const LaunchArgs& args) {
  if (slope == Activation::none) return;
  parallel_for(n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    T* c = args.out<T>(0) + begin;
    apply_slope(slope, end - begin, c, args.in<T>(2) + begin, c);
  });
}

// Products that a team shares among its members, each on one thread, rather than one after the other with the
// team inside: many of them, or ones too small for a team.
bool shares_batch(const MatmulProblem& p, std::int64_t threads) {
  constexpr double kTeamsWork =
      2e6;  // FLOPs; a team takes some 10 us to wake up, in which one thread does 1e5
  const double flops = 2.0 * double(p.m) * double(p.n) * double(p.k);
  return p.count() >= 4 * threads || (p.count() > 1 && flops < kTeamsWork);
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  if (p.folds()) {
    p.m *= p.count();
    p.batch = Shape{};
  }
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, slope = matmul_slope(problem.attrs)](const LaunchArgs& args) {
      auto products = [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i)
          gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, T{1}, args.in<T>(0) + p.a[static_cast<std::size_t>(i)],
               p.lda, args.in<T>(1) + p.b[static_cast<std::size_t>(i)], p.ldb, T{0},
               args.out<T>(0) + i * p.m * p.n, p.n);
      };
      if (shares_batch(p, omp_get_max_threads()))
        parallel_for(p.count(), kElementwiseGrain / (p.m * p.n * p.k) + 1, products);
      else
        products(0, p.count(), 0);
      finish_slope<T>(slope, p.count() * p.m * p.n, args);
    };
  });
}

}  // namespace

Kernel matmul_cpu_blas() {
  return {.name = "cpu:blas", .work = matmul_gemm_work, .prepare = prepare, .vendor = true};
}

}  // namespace headroom
