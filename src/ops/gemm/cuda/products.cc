// The GPU kernels of matrix products (src/ops/product), bound to gemm.
#include "ops/gemm/gemm.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace {

Product product_of(const Problem& problem, const Target& target) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  return {.dtype = problem.outputs[0].dtype,
          .tf32 = target.policy.tf32 && problem.outputs[0].dtype == DType::f32,
          .trans_a = p.trans_a,
          .trans_b = p.trans_b,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.n,
          .alpha = p.alpha,
          .beta = p.beta};
}

}  // namespace

std::vector<Kernel> gemm_cuda_products() { return product_kernels(product_of); }

}  // namespace headroom
