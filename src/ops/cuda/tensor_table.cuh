#pragma once

#include "ops/cuda/tensor_table.h"

namespace headroom::cuda {

// What one block does of a table: elements [begin, end) of a tensor.
struct TablePiece {
  int tensor;
  std::int64_t begin, end;
};

__device__ inline TablePiece piece_of(const TensorTable& table, unsigned block, std::int64_t chunk) {
  int low = 0, high = table.count;  // the last tensor that begins at or before the block
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (table.first_block[middle] <= block ? low : high) = middle;
  }
  const std::int64_t begin = std::int64_t{block - table.first_block[low]} * chunk, n = table.numel[low];
  return {low, begin, begin + chunk < n ? begin + chunk : n};
}

}  // namespace headroom::cuda
