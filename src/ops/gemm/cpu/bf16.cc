// "cpu:bf16" and "cpu:bf16x6", see ops/cpu/bf16_kernel.h.
#include "ops/cpu/bf16_kernel.h"
#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace gemm_cpu_bf16_cc {
namespace {

Launcher prepare(const Problem& problem, Bf16Parts parts) {
  return [p = gemm_problem(problem.inputs, problem.attrs),
          &version = bf16_version(parts)](const LaunchArgs& args) {
    if (p.adds()) gemm_copy_all(p.m * p.n, args.in<float>(2), args.out<float>(0));
    bf16_gemm(version, p.trans_a, p.trans_b, p.m, p.n, p.k, static_cast<float>(p.alpha), args.in<float>(0),
              p.lda, args.in<float>(1), p.ldb, static_cast<float>(p.beta), args.out<float>(0), p.n);
  };
}

ProductExtent extent_of(const Problem& problem, const Target& target) {
  return gemm_in_place_work(problem, target).main().extent;
}

}  // namespace
}  // namespace gemm_cpu_bf16_cc

Kernel gemm_cpu_bf16() {
  using namespace gemm_cpu_bf16_cc;
  return bf16_kernel(Bf16Parts::one, extent_of, prepare, gemm_in_place_work);
}

Kernel gemm_cpu_bf16x6() {
  using namespace gemm_cpu_bf16_cc;
  return bf16_kernel(Bf16Parts::three, extent_of, prepare, gemm_in_place_work);
}

}  // namespace headroom
