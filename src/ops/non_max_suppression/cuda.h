#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct NmsShape {
  std::int64_t images = 1, classes = 1, boxes = 1, bound = 1;
  bool center = false;
};

struct NmsTensors {
  const void *boxes, *scores;
  const std::int64_t* most;
  const void *overlap, *score;
  std::int64_t *rows, *count;
};

// The workspace holds a size for each image and class, then a byte for each of their boxes.
void non_max_suppression(DType dtype, const NmsShape& shape, const NmsTensors& tensors, void* workspace,
                         cudaStream_t stream);

}  // namespace headroom::cuda
