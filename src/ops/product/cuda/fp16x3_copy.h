#pragma once

// Copies of the factors in parts of fp16, for the kernels of ops/cuda/gemm_fp16x3.h. In builds with CUDA.

#include "ops/cuda/gemm_fp16x3.h"

namespace headroom::products {

// A copy [first second] along k of one factor: side by side where k runs along the rows, else on top of each
// other.
struct PartsCopy {
  std::int64_t side, k, ld, second;  // `second` in elements from the first part
  std::int64_t along_k;              // from one term of the sums to the next
  std::int64_t along_side;
};
inline PartsCopy copy_of(bool rows_along_k, std::int64_t side, std::int64_t k) {
  return rows_along_k ? PartsCopy{side, k, 2 * k, k, 1, 2 * k} : PartsCopy{side, k, side, k * side, side, 1};
}

inline cuda::Fp16x3Operand operand_of(const void* from, void* to, bool rows_along_k, std::int64_t side,
                                      std::int64_t k, std::int64_t ld, const PartsCopy& copy, bool hi_first) {
  return {.from = static_cast<const float*>(from),
          .to = to,
          .rows = rows_along_k ? side : k,
          .columns = rows_along_k ? k : side,
          .ld = ld,
          .to_rows = rows_along_k ? copy.side : copy.k,
          .to_columns = rows_along_k ? copy.k : copy.side,
          .to_ld = copy.ld,
          .hi = hi_first ? 0 : copy.second,
          .lo = hi_first ? copy.second : 0};
}

}  // namespace headroom::products
