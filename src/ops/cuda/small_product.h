#pragma once

// What the kernels of small fp32 products take: "cuda:slices" and "cuda:clusters".

#include <cstdint>

#include "ops/product/product.h"

namespace headroom::cuda {

struct SmallProduct {
  const float *a, *b, *bias;  // bias may be null
  float* c;
  std::int64_t m, n, k, lda, ldb, ldc;
  bool whole_a, whole_b, whole_c;  // 16-byte accesses are allowed
  Activation finish;
};

// `along`: contiguous along k. `exact`: three products of tf32 parts, else one.
struct SmallLayout {
  bool along_a, along_b, exact;
};

// One of four instances of a kernel, in the order of (along_a, along_b): neither, b, a, both.
template <class Kernel>
Kernel instance_of(const SmallLayout& layout, Kernel neither, Kernel only_b, Kernel only_a, Kernel both) {
  if (layout.along_a) return layout.along_b ? both : only_a;
  return layout.along_b ? only_b : neither;
}

}  // namespace headroom::cuda
