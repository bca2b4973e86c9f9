#pragma once

#include <cuda_runtime_api.h>

#include "ops/classifier_head/split.h"

namespace headroom::cuda {

struct HeadShape {
  std::int64_t rows, inputs, classes;
  int slope;         // as in Activation
  bool wide_labels;  // int64 instead of int32
};

struct HeadPointers {
  const float *h, *w, *bias;
  const void* labels;
  float *loss, *correct, *dz, *dw, *dbias, *dh_bias;
};

void classifier_head(const HeadShape& shape, const HeadSplit& split, const HeadPointers& pointers,
                     void* workspace, cudaStream_t stream);

}  // namespace headroom::cuda
