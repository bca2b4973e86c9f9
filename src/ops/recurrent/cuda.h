#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// RecurrentProblem as kernels take it.
struct RecurrentShape {
  int kind = 0;  // CellKind
  std::int64_t gates = 4, seq = 1, batch = 1, input = 1, hidden = 1, dirs = 1;
  bool reversed = false, linear_before_reset = false, relu = false;
};

// Pointers to whole tensors; those that are not there are null.
struct RecurrentTensors {
  const void *x, *w, *r, *b, *h0, *c0;
  void *y, *y_h, *y_c, *scratch;
};

void recurrent(DType dtype, const RecurrentShape& shape, const RecurrentTensors& tensors,
               cudaStream_t stream);

}  // namespace headroom::cuda
