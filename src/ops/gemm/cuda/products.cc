// The GPU kernels of matrix products (src/ops/product), bound to gemm.
#include "ops/gemm/gemm.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace {

Product product_of(const Problem& problem, const Target& target) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  Product product = plain_product(p, problem, target);
  product.alpha = p.alpha, product.beta = p.beta;
  return product;
}

}  // namespace

std::vector<Kernel> gemm_cuda_products() { return product_kernels(product_of); }

}  // namespace headroom
