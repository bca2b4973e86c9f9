#pragma once

#include <cuda_runtime_api.h>

#include "ops/product/product.h"

namespace headroom::cuda {

// A product with at most 16 columns: C(r, s) = f(sum over k of large(r, k) small(s, k) + bias).
struct SkinnyArgs {
  const void *large, *small, *bias;  // bias may be null
  void* c;
  void* partial;  // [split][elements of c] in the type of the sums; null where splits is 1
  std::int64_t rows, columns, k;
  std::int64_t large_ld;  // from row to row, or from k to k where it is not contiguous along k
  std::int64_t small_row, small_k, c_row, c_column;
  std::int64_t k_per_split;
  int splits, warps_along_k;
  bool along;        // the large operand is contiguous along k; then so is the small one
  bool bias_by_row;  // else by column
  bool whole;        // 16-byte accesses are allowed
  Activation finish;
};
// `splits` is the most that partial holds; bits depend on the arguments alone.
void skinny(DType dtype, const SkinnyArgs& args, cudaStream_t stream);
// Its kernels for an operand that lies across k, and for many rows along it.
void skinny_across(DType dtype, const SkinnyArgs& args, cudaStream_t stream);
void skinny_rows(DType dtype, const SkinnyArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
