#pragma once

// What the two halves of a rung share. Plain data, for device code too.

#include "ops/product/product.h"

namespace headroom::products {

// C[m,n] = f(alpha A B + beta D + bias), `batch` of them.
struct RungArgs {
  const void *a, *b, *bias, *add;  // bias and add (D) may be null
  void* c;
  std::int64_t m, n, k, ldc;
  std::int64_t a_row, a_k, b_k, b_column;  // steps in elements; of either pair one is 1
  std::int64_t stride_a, stride_b, stride_c;
  double alpha, beta;
  int batch;
  bool whole_a, whole_b, whole_c;  // rows of 16 bytes: vector accesses are allowed
  Activation finish;
};

}  // namespace headroom::products
