#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// How scales lie over x, seen as [outer, length, inner]: one for all, one for each index of the axis in the
// middle, or one for each block along it.
struct ScaleShape {
  std::int64_t count = 0;  // elements of x
  std::int64_t length = 1, inner = 1;
  std::int64_t block = 0, blocks = 0;  // block 0: no blocks
  bool whole = true;
  bool one_zero = true;
};

// x and y of the types of the operator, scale of any float type, zero of the integers' type.
struct QuantizeTensors {
  DType x, scale, y;
  const void *from, *scales, *zeros;
  void* to;
};

// round(x / scale) + zero, or, for integers x, round(x * scale) + zero, cut to [low, high].
void quantize(const ScaleShape& shape, const QuantizeTensors& tensors, int low, int high,
              cudaStream_t stream);
void dequantize(const ScaleShape& shape, const QuantizeTensors& tensors, cudaStream_t stream);

}  // namespace headroom::cuda
