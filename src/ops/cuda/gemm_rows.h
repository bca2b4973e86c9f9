#pragma once

// "cuda:fp16x3_rows": fp32 products on Hopper that read the larger factor once, as it is. The copy engine
// brings its rows to shared memory as fp32, and each value is split into its two parts of fp16 in registers,
// on its way to the warp-group instructions. The other factor comes in parts (fp16_parts.h), written by a
// launch before. Rows of the larger factor have scales of their own: powers of two, which shrink where a
// value comes that would not fit. The tensor cores add up 64 of k (they cut sums off), ordinary additions in
// registers the rest. Blocks of a cluster share k, and their sums meet in distributed shared memory. Rounded:
// one part each, as exact as tf32.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "ops/cuda/fp16_parts.h"
#include "ops/product/wgmma.h"

namespace headroom::cuda {

struct RowsArgs {
  const float* bias;  // null: none
  float* c;
  const PartsScale* scale;  // of the factor in parts
  std::int64_t rows, columns, ldc;
  int steps;     // of 64 of k, in all
  int splits;    // blocks of a cluster: 1, 2, 4 or 8
  bool swapped;  // C has the columns as its rows
  bool whole_c;  // 16-byte accesses are allowed
  Activation finish;
};

// How the factors lie, and how exact the product is.
struct RowsForm {
  bool along_rows, along_columns;  // contiguous along k
  bool exact;
  int tile_n;  // columns: 64, 128, or 160 along k
};
// `rows`: the map with boxes of 128 rows along k, or of 64 k across it. `columns`: that of the parts, with
// boxes of tile_n columns along k, or of 64 k across it.
void multiply_rows(const RowsForm& form, const CUtensorMap& rows, const CUtensorMap& columns,
                   const RowsArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
