// The GPU kernels of matrix products (src/ops/product), bound to linear.
#include "ops/linear/linear.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace {

Product product_of(const Problem& p, const Target& target) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  return {.dtype = p.outputs[0].dtype,
          .tf32 = target.policy.tf32 && p.outputs[0].dtype == DType::f32,
          .trans_b = true,
          .m = l.rows,
          .n = l.out,
          .k = l.in,
          .lda = l.in,
          .ldb = l.in,
          .ldc = l.out,
          .bias = l.bias,
          .finish = l.activation};
}

}  // namespace

std::vector<Kernel> linear_cuda_products() { return product_kernels(product_of); }

}  // namespace headroom
