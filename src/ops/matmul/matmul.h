#pragma once

#include "ops/activation/activation.h"
#include "ops/operator.h"

namespace headroom {

// matmul(a, b; trans_a, trans_b): products of the matrices in the last two axes, either of them read
// transposed. The axes before them count matrices and are broadcast against each other as elsewhere. A vector
// a[K] is a row, a vector b[K] a column, and that axis is missing in the result.
// matmul(a, b, y; …, activation_grad = relu|sigmoid|tanh): the product times f'(x), element by element, by
// the output y = f(x), which has the product's shape. Made by a pass: a layer's input gradient and the
// gradient of the activation before that layer.
std::vector<Operator> matmul_operators();

// One product per element of `batch`.
struct MatmulProblem {
  bool trans_a = false, trans_b = false;
  std::int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1;
  Shape batch;                     // broadcast
  std::vector<std::int64_t> a, b;  // offsets of the matrices of each product
  std::int64_t count() const { return batch.numel(); }
  bool folds() const;  // one product does: all matrices of a, one below the other, times the one b
};
MatmulProblem matmul_problem(const std::vector<TensorType>& inputs, const Attrs& attrs);

Activation matmul_slope(const Attrs& attrs);

OpSchema matmul_schema();
std::vector<Case> matmul_cases();

}  // namespace headroom
