#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/after_gemm.h"

namespace headroom {

// C[m,n] = alpha op(A) op(B) + beta C, row-major; C is not read if beta is 0. The bits do not depend on the
// number of threads, which follows the work. Inside a parallel region it runs on the calling thread alone.
void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc, const AfterGemm<float>& after = {});
void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
          std::int64_t ldc, const AfterGemm<double>& after = {});

// A right factor op(B)[k, n] that many products share, in the order in which they read it: packed once, it
// need not be packed by each of them. The bits are those of gemm.
template <class T>
std::int64_t packed_elements(std::int64_t n, std::int64_t k);
template <class T>
void pack_right(bool trans_b, std::int64_t n, std::int64_t k, const T* b, std::int64_t ldb, T* packed);
// C[m,n] = A op(B) + beta C.
template <class T>
void gemm_by_packed(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t lda,
                    const T* packed, T beta, T* c, std::int64_t ldc);

// C[m,n] = op(A) op(B) of fp32 with products and sums in fp64, rounded once: about half as fast. `scratch`
// holds wide_scratch_bytes.
void gemm_wide(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
               std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc, void* scratch);
std::size_t wide_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace headroom
