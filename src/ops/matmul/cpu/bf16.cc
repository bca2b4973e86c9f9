// "cpu:bf16" and "cpu:bf16x6", see ops/cpu/bf16_kernel.h.
#include "ops/activation/after_gemm.h"
#include "ops/cpu/bf16_kernel.h"
#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/cpu/gemm_work.h"

namespace headroom {
namespace matmul_cpu_bf16_cc {
namespace {

Launcher prepare(const Problem& problem, Bf16Parts parts) {
  return [p = folded_matmul(problem), slope = matmul_slope(problem.attrs),
          &version = bf16_version(parts)](const LaunchArgs& args) {
    const float* y = slope == Activation::none ? nullptr : args.in<float>(2);
    each_product<float>(p, args, [&](const float* a, const float* b, float* c, std::int64_t i) {
      bf16_gemm(version, p.trans_a, p.trans_b, p.m, p.n, p.k, 1, a, p.lda, b, p.ldb, 0, c, p.n,
                times_slope(slope, y == nullptr ? y : y + i * p.m * p.n, p.n));
    });
  };
}

ProductExtent extent_of(const Problem& problem, const Target& target) {
  return matmul_gemm_work(problem, target).main().extent;
}

}  // namespace
}  // namespace matmul_cpu_bf16_cc

Kernel matmul_cpu_bf16() {
  using namespace matmul_cpu_bf16_cc;
  return bf16_kernel(Bf16Parts::one, extent_of, prepare, matmul_gemm_work);
}

Kernel matmul_cpu_bf16x6() {
  using namespace matmul_cpu_bf16_cc;
  return bf16_kernel(Bf16Parts::three, extent_of, prepare, matmul_gemm_work);
}

}  // namespace headroom
