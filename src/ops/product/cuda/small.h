#pragma once

// From a product without a batch to what the kernels of ops/cuda/small_product.h take.

#include "ops/cuda/launch.h"
#include "ops/cuda/small_product.h"
#include "ops/product/cuda/shared.h"

namespace headroom::products {

inline cuda::SmallLayout small_layout(const Product& p) { return {!p.trans_a, p.trans_b, !p.tf32}; }

inline cuda::SmallProduct small_product(const Product& p, const LaunchArgs& args) {
  const float *const a = args.in<float>(0) + p.runs[0].a, *const b = args.in<float>(1) + p.runs[0].b;
  float* const c = args.out<float>(0) + p.runs[0].c;
  return {.a = a,
          .b = b,
          .bias = p.bias ? args.in<float>(2) : nullptr,
          .c = c,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.ldc,
          .whole_a = whole_rows(a, p.lda, 0, p.dtype),
          .whole_b = whole_rows(b, p.ldb, 0, p.dtype),
          .whole_c = whole_rows(c, p.ldc, 0, p.dtype),
          .finish = p.finish};
}

}  // namespace headroom::products
