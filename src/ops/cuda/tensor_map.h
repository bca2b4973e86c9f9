#pragma once

// Matrices as the bulk copy engine sees them: the map of a tensor in global memory, of which it copies boxes
// to shared memory, swizzled as wgmma_layout.h tells.

#include <cuda.h>

#include "ops/product/wgmma.h"

namespace headroom::cuda {

struct MatrixMap {
  DType dtype = DType::f16;
  bool rounded = true;  // f32: to tf32, on the way
  std::int64_t columns = 1, rows = 1, ld = 1;
  std::int64_t count = 1, stride = 0;  // matrices, and from one to the next in elements
  int box_rows = 64;                   // of 128 bytes
};

// The map for one place in memory, made anew only where that changes: a launch allocates nothing and asks the
// device nothing, so it may be captured.
class PlacedMap {
 public:
  explicit PlacedMap(const MatrixMap& matrix) : matrix_(matrix) {}
  const CUtensorMap& at(const void* data);

 private:
  MatrixMap matrix_;
  const void* data_ = nullptr;
  CUtensorMap map_{};
};

// A factor in parts of fp16 (fp16_parts.h), with `side` rows of A or columns of B; `along`: contiguous along
// k, in boxes of so many of them; across it boxes are of 64 k.
PlacedMap parts_map(bool along, std::int64_t side, std::int64_t k, std::int64_t ld, int parts,
                    int box_rows = kWgmmaRows);

}  // namespace headroom::cuda
