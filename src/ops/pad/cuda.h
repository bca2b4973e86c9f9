#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct PadAxes {
  enum class Mode { constant, edge, reflect };
  static constexpr int kMax = 8;
  Mode mode = Mode::constant;
  double value = 0;
  int rank = 0;
  std::int64_t input[kMax] = {}, output[kMax] = {}, before[kMax] = {};
};

void pad(DType dtype, const PadAxes& axes, const void* x, void* y, cudaStream_t stream);
// Of edge and reflect.
void pad_grad(DType dtype, const PadAxes& axes, const void* dy, void* dx, cudaStream_t stream);

}  // namespace headroom::cuda
