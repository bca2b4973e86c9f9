#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom {

// C[m,n] = alpha op(A) op(B) + beta C, row-major, in tiles by the BLAS library. The bits do not depend on the
// number of threads. Inside a parallel region it runs on the calling thread alone.
void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc);
void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
          std::int64_t ldc);

// C[m,n] = op(A) op(B) of fp32 with products and sums in fp64, rounded once: about half as fast. `scratch`
// holds wide_scratch_bytes.
void gemm_wide(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
               std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc, void* scratch);
std::size_t wide_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

// The rival: C = A B with n x n matrices by the library's own threads, as many as asked for.
void library_sgemm(int threads, std::int64_t n, const float* a, const float* b, float* c);

const char* blas_version();  // "OpenBLAS 0.3.21 NEOVERSEN1 OPENMP"

}  // namespace headroom
