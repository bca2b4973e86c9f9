#pragma once

#include "ops/operator.h"

namespace headroom {

// gemm(a, b[, c]; trans_a, trans_b, alpha = 1, beta = 0) = alpha op(a) op(b) + beta c: the product of BLAS,
// on matrices of one type. op transposes where its attribute says so. With beta = 0, c may be missing and is
// never read: a NaN in it does not reach the result. With any other beta, c must be there. c keeps its value.
// With alpha = 0, a kernel may leave a and b unread, and whether a NaN in them reaches the result is open.
std::vector<Operator> gemm_operators();

struct GemmProblem {
  bool trans_a = false, trans_b = false;
  std::int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1;
  double alpha = 1, beta = 0;

  bool adds() const { return beta != 0; }
  // Distances between neighbours of op(a) and op(b), in elements.
  std::int64_t a_row() const { return trans_a ? 1 : lda; }
  std::int64_t a_k() const { return trans_a ? lda : 1; }
  std::int64_t b_k() const { return trans_b ? 1 : ldb; }
  std::int64_t b_column() const { return trans_b ? ldb : 1; }
};
GemmProblem gemm_problem(const std::vector<TensorType>& inputs, const Attrs& attrs);

OpSchema gemm_schema();
std::vector<Case> gemm_cases();

}  // namespace headroom
