#pragma once

// The matrix library, a rival of gemm().

#include <cstdint>

#include "ops/cpu/after_gemm.h"

namespace headroom {

// C[m,n] = alpha op(A) op(B) + beta C as gemm() computes it, in tiles, each by one call of the library on one
// thread; `after` in a pass behind it. The bits do not depend on the number of threads.
void blas_gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
               const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
               std::int64_t ldc, const AfterGemm<float>& after = {});
void blas_gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
               const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
               std::int64_t ldc, const AfterGemm<double>& after = {});

// C = A B with n x n matrices by the library's own threads, as many as asked for.
void library_sgemm(int threads, std::int64_t n, const float* a, const float* b, float* c);

const char* blas_version();  // "OpenBLAS 0.3.21 NEOVERSEN1 OPENMP"

}  // namespace headroom
