// Sums in fp64, rounded once; one product.
#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/matmul/cpu/gemm_work.h"

namespace headroom {
namespace matmul_cpu_wide_cc {
namespace {

Verdict accepts(const Problem& problem, const Target& target) {
  const Verdict verdict = accepts_cpu_fp32(problem, target);
  if (!verdict.ok) return verdict;
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  return p.count() == 1 ? accept() : refuse("takes one product, not a batch of them");
}

std::size_t workspace(const Problem& problem, const Target&) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  return wide_scratch_bytes(p.m, p.n, p.k);
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return [p = matmul_problem(problem.inputs, problem.attrs),
          slope = matmul_slope(problem.attrs)](const LaunchArgs& a) {
    gemm_wide(p.trans_a, p.trans_b, p.m, p.n, p.k, a.in<float>(0), p.lda, a.in<float>(1), p.ldb,
              a.out<float>(0), p.n, a.workspace);
    if (slope == Activation::none) return;
    float* c = a.out<float>(0);
    const float* y = a.in<float>(2);
    parallel_for(p.m * p.n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        c[i] = static_cast<float>(double{c[i]} * slope_from_output(slope, double{y[i]}));
    });
  };
}

Work work(const Problem& problem, const Target& target) {
  Work work = matmul_gemm_work(problem, target);
  work.with("cpu.gemm.fp64_sums", Unit::fp64, work.main().extent);
  if (matmul_slope(problem.attrs) != Activation::none) work.add_bytes(2 * double(problem.outputs[0].bytes()));
  return work.add_bytes(2 * double(workspace(problem, target)));
}

}  // namespace
}  // namespace matmul_cpu_wide_cc

Kernel matmul_cpu_wide() {
  using namespace matmul_cpu_wide_cc;
  return {.name = "cpu:wide", .accepts = accepts, .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
