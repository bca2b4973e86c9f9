#pragma once

// Matrices of fp32 in parts of fp16, as the products of "cuda:fp16x3_wgmma" take them.
//
// A matrix is multiplied by a scale that brings its largest value to between 2^14 and 2^15, and every value
// is split: x scale = hi + lo, 11 bits each. Then 22 bits are kept where |x| is above 2^-17 of the largest
// value; what is smaller keeps the absolute accuracy of that, 2^-39 of the largest value. Infinities and NaN
// do not count for the scale.
//
// The scale is a power of two, or 255 times one: pixels that were divided by 255 are whole numbers again and
// need no second part. Which of the two it is, and whether there is a second part at all, the values decide.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "ops/product/wgmma.h"

namespace headroom::cuda {

// What a product must know of a matrix in parts, in device memory. x = (hi + lo) power / base.
struct PartsScale {
  float power;
  float base;   // 1 or 255
  float parts;  // 1: lo is zero everywhere, or there is none
  float unused;
};

struct PartsMatrix {
  const float* from;
  std::int64_t rows, columns, ld;
  void* to;            // fp16: [max_parts, rows, to_ld]
  std::int64_t to_ld;  // columns filled up with zeros to a multiple of 8, and no gap beyond
  int max_parts;       // 1: hi alone, as exact as tf32
  PartsScale* scale;
};

// Each block leaves this of each matrix for the others.
struct PartsFound {
  unsigned largest;  // bits of the largest finite absolute value
  unsigned inexact;  // bit 0: more than 11 bits in some value; bit 1: some value is no pixel
};

// One launch for one or two matrices; its blocks wait for each other, so there are no more of them than run
// at once. `found` has room for `blocks` of each matrix
// (parts_blocks in ops/product/wgmma.h).
struct PartsTask {
  PartsMatrix of[2];
  int count;
  PartsFound* found;
};
void write_parts(const PartsTask& task, std::int64_t blocks, cudaStream_t stream);

}  // namespace headroom::cuda
