#include "ops/cpu/gemm.h"

#include <cblas.h>

namespace headroom {
namespace {

CBLAS_TRANSPOSE flag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
blasint narrow(std::int64_t n) { return static_cast<blasint>(n); }

}  // namespace

void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc) {
  cblas_sgemm(CblasRowMajor, flag(trans_a), flag(trans_b), narrow(m), narrow(n), narrow(k), alpha, a,
              narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
          std::int64_t ldc) {
  cblas_dgemm(CblasRowMajor, flag(trans_a), flag(trans_b), narrow(m), narrow(n), narrow(k), alpha, a,
              narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

double gemm_efficiency(std::int64_t m, std::int64_t n, std::int64_t k) {
  // Both constants are assumptions, not fits: half of the asymptotic rate at an extent of kHalf per
  // dimension, and 0.9 of the peak for large products. A Neoverse-V1 was seen to reach 0.69 at 2048, so it is
  // predicted too fast.
  constexpr double kHalf = 6, kAsymptote = 0.9;
  auto part = [](std::int64_t extent) { return double(extent) / (double(extent) + kHalf); };
  return kAsymptote * part(m) * part(n) * part(k);
}

void set_blas_threads(int threads) {
  constexpr int kPthreads = 1;  // openblas_get_parallel: 0 sequential, 1 threads of its own, 2 OpenMP
  if (openblas_get_parallel() == kPthreads) openblas_set_num_threads(threads);
}

const char* blas_version() { return openblas_get_config(); }

}  // namespace headroom
