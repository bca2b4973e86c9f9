#pragma once

// "cuda:fp16x3": exact fp32 by the tensor cores' products of fp16. Every factor is multiplied by a power of
// two, one for each matrix, that brings its largest value to between 2^14 and 2^15, and split in two parts of
// 11 bits: x = hi + lo. Three of the four products are done, by cuBLASLt, with fp32 sums:
//
//   lo hi + hi lo   as one product over twice the depth: A's copy holds [lo hi] along k, B's [hi lo].
//   hi hi           in pieces of k, as one batched product. Tensor cores cut off what does not fit into a
//                   sum: short sums lose little (ops/product/cuda/fp16x3.cc has the numbers).
//
// The results lie in slabs of fp32, which one last pass adds up in a fixed order by ordinary additions; it
// takes the scales back, adds the bias and applies the activation.
//
// Of x, 22 bits are kept where |x| is above 2^-17 of the largest value of its matrix. What is smaller keeps
// the absolute accuracy of that: 2^-39 of the largest value. Infinities and NaN do not count for the scale;
// whatever they enter into becomes NaN (where fp32 would have kept an infinity too), everything else is as if
// they were not there.

#include <cuda_runtime_api.h>

#include "ops/product/product.h"

namespace headroom::cuda {

// One factor as it lies in memory, and its copy: rows and columns filled up with zeros, both parts in fp16.
struct Fp16x3Operand {
  const float* from;
  void* to;
  std::int64_t rows, columns, ld;
  std::int64_t to_rows, to_columns, to_ld;  // columns and ld are multiples of 8
  std::int64_t hi, lo;                      // where the parts begin, in elements
};
struct Fp16x3Operands {
  Fp16x3Operand of[2];
  unsigned* largest;  // of each: the bits of its largest finite absolute value
};
// One launch for both operands each; `largest` must be 0 before the first.
void find_largest(const Fp16x3Operands& args, cudaStream_t stream);
void split_fp16x3(const Fp16x3Operands& args, cudaStream_t stream);

struct Fp16x3Sums {
  const float* slabs;  // `count` slabs of so many elements, rows of slab_ld
  std::int64_t slab, slab_ld;
  int count;
  const unsigned* largest;
  const float* bias;  // null: none
  float* c;
  std::int64_t rows, n, ldc;
  Activation finish;
};
void sum_fp16x3(const Fp16x3Sums& args, cudaStream_t stream);

}  // namespace headroom::cuda
