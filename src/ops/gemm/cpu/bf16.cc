// "cpu:bf16": factors rounded to bf16, sums in fp32, by the matrix instructions of the processor.
#include "ops/cpu/bf16_gemm.h"
#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace gemm_cpu_bf16_cc {
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
    if (p.adds()) gemm_copy_all(p.m * p.n, args.in<float>(2), args.out<float>(0));
    bf16_gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, static_cast<float>(p.alpha), args.in<float>(0), p.lda,
              args.in<float>(1), p.ldb, static_cast<float>(p.beta), args.out<float>(0), p.n);
  };
}

Work work(const Problem& problem, const Target& target) {
  Work work = gemm_in_place_work(problem, target);
  return work.with("cpu.bf16", Unit::bf16, work.main().extent);
}

}  // namespace
}  // namespace gemm_cpu_bf16_cc

Kernel gemm_cpu_bf16() {
  using namespace gemm_cpu_bf16_cc;
  return {.name = "cpu:bf16", .accepts = accepts_cpu_bf16, .work = work, .prepare = prepare};
}

}  // namespace headroom
