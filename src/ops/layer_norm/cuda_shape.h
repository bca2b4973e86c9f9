#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::cuda {

// Into how many parts the rows are cut for the gradients of scale and bias: from the shape alone. Built
// everywhere: a plan asks for the workspace without a toolkit.
inline std::int64_t layer_norm_parts(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlocks = 1024, kColumns = 128, kMax = 128, kLeastRows = 32;
  const std::int64_t across = (columns + kColumns - 1) / kColumns;
  std::int64_t parts = (kBlocks + across - 1) / across;
  if (parts > (rows + kLeastRows - 1) / kLeastRows) parts = (rows + kLeastRows - 1) / kLeastRows;
  return parts > kMax ? kMax : parts;
}

}  // namespace headroom::cuda
