#pragma once

#include <cstdint>

namespace headroom {

// How a GPU holds rows that lie one after another: `lanes` neighbouring threads keep one in registers, `per`
// elements each. Longer rows have a block to themselves: lanes is 0.
struct RowSplit {
  static constexpr int kThreads = 256;
  int lanes = 0, per = 0;
  std::int64_t rows_per_block() const { return lanes == 0 ? 1 : kThreads / lanes; }
  std::int64_t blocks(std::int64_t rows) const { return (rows + rows_per_block() - 1) / rows_per_block(); }
};

constexpr RowSplit row_split(std::int64_t columns) {
  if (columns <= 16) return {4, 4};
  if (columns <= 32) return {8, 4};
  if (columns <= 64) return {16, 4};
  if (columns <= 128) return {32, 4};
  if (columns <= 256) return {32, 8};
  if (columns <= 512) return {32, 16};
  if (columns <= 1024) return {32, 32};
  return {};
}

}  // namespace headroom
