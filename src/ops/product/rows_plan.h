#pragma once

// How "cuda:fp16x3_rows" goes about a product; what it does is told in ops/cuda/gemm_rows.h.

#include "ops/product/wgmma.h"

namespace headroom {

// The factor with more values is read as it is: its rows of A, or columns of B, are the rows of the tiles.
// Offsets in bytes; the scale comes first.
struct RowsPlan {
  bool swapped = false;                          // the rows are the columns of C
  bool along_rows = true, along_columns = true;  // contiguous along k
  std::int64_t rows = 1, columns = 1;
  int tile_n = 64;  // columns: 64, 128, or 160 along k
  int steps = 1;    // of 64 of k
  int splits = 1;   // blocks that share the steps of a tile, as a cluster
  std::int64_t tiles = 1;
  std::int64_t ld = 8, parts_blocks = 1;  // of the parts
  std::size_t found = 0, parts = 0, workspace = 0;
};
RowsPlan plan_rows(const Product& product, int multiprocessors);

}  // namespace headroom
