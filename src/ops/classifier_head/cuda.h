#pragma once

#include <cuda_runtime_api.h>

#include "ops/classifier_head/split.h"
#include "ops/cuda/fp16_parts.h"

namespace headroom::cuda {

struct HeadShape {
  std::int64_t rows, inputs, classes;
  int slope;         // as in Activation
  bool wide_labels;  // int64 instead of int32
  int parts;         // of dz; 0: as it is
  std::int64_t ld;   // of dz
};

struct HeadPointers {
  const float *h, *w, *bias;
  const void* labels;
  float *loss, *correct;
  void* dz;  // float, or fp16 in parts
  float *dw, *dbias, *dh_bias;
  PartsScale* dz_scale;  // of parts
};

void classifier_head(const HeadShape& shape, const HeadSplit& split, const HeadPointers& pointers,
                     void* workspace, cudaStream_t stream);

}  // namespace headroom::cuda
