#pragma once

#include <cuda_runtime_api.h>

#include "ops/product/product.h"

namespace headroom::cuda {

// C[m,n] = f(op(A) op(B) + bias) * g'(y), k at most 16, `batch` of them; y lies as C does.
struct OuterArgs {
  const void *a, *b, *bias, *y;  // bias and y may be null
  void* c;
  std::int64_t m, n, ldc;
  std::int64_t a_row, a_k, b_column, b_k;  // steps in elements; of either pair one is 1
  std::int64_t stride_a, stride_b, stride_c;
  std::int64_t row_tiles;
  int k, batch;
  int width;   // threads side by side along a row: 8, 16 or 32
  bool whole;  // rows of c and y are whole packs
  Activation finish, slope;
};
void outer(DType dtype, OuterArgs args, cudaStream_t stream);

}  // namespace headroom::cuda
