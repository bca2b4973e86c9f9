// Products by the matrix instructions of the processor, with factors rounded to bf16 and sums in fp32.
#include "ops/activation/after_gemm.h"
#include "ops/cpu/bf16_gemm.h"
#include "ops/cpu/bf16_pays.h"
#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/cpu/gemm_work.h"

namespace headroom {
namespace matmul_cpu_bf16_cc {
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return [p = folded_matmul(problem), slope = matmul_slope(problem.attrs)](const LaunchArgs& args) {
    const float* y = slope == Activation::none ? nullptr : args.in<float>(2);
    each_product<float>(p, args, [&](const float* a, const float* b, float* c, std::int64_t i) {
      bf16_gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, 1, a, p.lda, b, p.ldb, 0, c, p.n,
                times_slope(slope, y == nullptr ? y : y + i * p.m * p.n, p.n));
    });
  };
}

Work work(const Problem& problem, const Target& target) {
  Work work = matmul_gemm_work(problem, target);
  return work.with("cpu.bf16", Unit::bf16, work.main().extent);
}

Verdict pays(const Problem& problem, const Target& target) {
  return bf16_pays(work(problem, target).main().extent);
}

}  // namespace
}  // namespace matmul_cpu_bf16_cc

Kernel matmul_cpu_bf16() {
  using namespace matmul_cpu_bf16_cc;
  return {.name = "cpu:bf16", .accepts = accepts_cpu_bf16, .pays = pays, .work = work, .prepare = prepare};
}

}  // namespace headroom
