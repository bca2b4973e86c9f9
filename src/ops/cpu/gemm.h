#pragma once

#include <cstdint>

namespace headroom {

// C[m,n] = alpha op(A) op(B) + beta C, row-major, by the BLAS library. Inside a parallel region it runs on
// the calling thread alone.
void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc);
void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
          std::int64_t ldc);

// Share of the FMA peak to expect from it: thin products spend their time packing rather than multiplying.
double gemm_efficiency(std::int64_t m, std::int64_t n, std::int64_t k);

// For builds of the library with threads of their own: as many as ours. The OpenMP build follows OpenMP by
// itself.
void set_blas_threads(int threads);

const char* blas_version();  // "OpenBLAS 0.3.21 NEOVERSEN1 OPENMP"

}  // namespace headroom
