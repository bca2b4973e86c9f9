#pragma once

#include "ops/gather/cuda/shape.h"

namespace headroom::cuda {

// -1 where the index lies outside.
__device__ inline std::int64_t row_at(const GatherShape& s, const void* indices, std::int64_t i) {
  std::int64_t row =
      s.wide_indices ? static_cast<const long long*>(indices)[i] : static_cast<const int*>(indices)[i];
  if (row < 0) row += s.extent;
  return row >= 0 && row < s.extent ? row : -1;
}

}  // namespace headroom::cuda
