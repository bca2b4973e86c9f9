#include "ops/cpu/blas.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>

#include "ops/cpu/parallel.h"

namespace headroom {
namespace cpu_blas_cc {
namespace {

CBLAS_TRANSPOSE flag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
blasint narrow(std::int64_t n) { return static_cast<blasint>(n); }

void library(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
             const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
             std::int64_t ldc) {
  cblas_sgemm(CblasRowMajor, flag(trans_a), flag(trans_b), narrow(m), narrow(n), narrow(k), alpha, a,
              narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

void library(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
             const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
             std::int64_t ldc) {
  cblas_dgemm(CblasRowMajor, flag(trans_a), flag(trans_b), narrow(m), narrow(n), narrow(k), alpha, a,
              narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

// Threads of the library's own, where it has any: openblas_get_parallel says 0 sequential, 1 threads of its
// own, 2 OpenMP.
void set_own_threads(int threads) {
  if (openblas_get_parallel() == 1) openblas_set_num_threads(threads);
}

// The OpenMP build asks OpenMP how many threads to take, at each call.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// How the result is cut up: a function of the product's extents alone.
struct Tiles {
  std::int64_t rows, columns;  // of a tile
  std::int64_t down, across;   // how many
};

Tiles tiles_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr double kLeastFlops = 1e6;     // some 15 us of one core: twenty times what waking a thread costs
  constexpr std::int64_t kMax = 16;       // more tiles pack their operands more often than threads need
  constexpr std::int64_t kMultiple = 48;  // of the widths of the library's inner loops: 4, 6, 8, 12, 16, 24
  const double flops = 2.0 * double(m) * double(n) * double(k);
  std::int64_t pieces = 1, down = 1, across = 1;
  while (pieces < kMax && flops / double(2 * pieces) >= kLeastFlops) {
    const bool taller = m / down >= n / across;
    if ((taller ? m / down : n / across) < 2 * kMultiple) break;
    (taller ? down : across) *= 2;
    pieces *= 2;
  }
  auto extent = [](std::int64_t whole, std::int64_t parts) {
    const std::int64_t part = (whole + parts - 1) / parts;
    return parts == 1 ? std::max<std::int64_t>(whole, 1) : (part + kMultiple - 1) / kMultiple * kMultiple;
  };
  const std::int64_t rows = extent(m, down), columns = extent(n, across);
  return {rows, columns, (m + rows - 1) / rows, (n + columns - 1) / columns};
}

// Each tile is one call of the library on one thread, so the bits are the same for any number of threads.
template <class T>
void tiled(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
           std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  static const bool prepared = (set_own_threads(1), true);
  static_cast<void>(prepared);
  const Tiles tiles = tiles_of(m, n, k);
  auto compute = [&](std::int64_t tile) {
    const std::int64_t row = tile / tiles.across * tiles.rows, column = tile % tiles.across * tiles.columns;
    library(trans_a, trans_b, std::min(tiles.rows, m - row), std::min(tiles.columns, n - column), k, alpha,
            a + (trans_a ? row : row * lda), lda, b + (trans_b ? column * ldb : column), ldb, beta,
            c + row * ldc + column, ldc);
  };
  const std::int64_t count = tiles.down * tiles.across;
  const std::int64_t threads = std::min<std::int64_t>(count, team_limit());
  if (threads > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(threads))
    for (std::int64_t tile = 0; tile < count; ++tile) compute(tile);
    return;
  }
  const OneThread one;
  for (std::int64_t tile = 0; tile < count; ++tile) compute(tile);
}

template <class T>
void finish(std::int64_t m, std::int64_t n, T* c, std::int64_t ldc, const AfterGemm<T>& after) {
  if (!after || n <= 0) return;
  parallel_for(m, kElementwiseGrain / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) after(i, 0, n, c + i * ldc);
  });
}

}  // namespace
}  // namespace cpu_blas_cc

void blas_gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
               const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
               std::int64_t ldc, const AfterGemm<float>& after) {
  using namespace cpu_blas_cc;
  tiled(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  finish(m, n, c, ldc, after);
}

void blas_gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
               const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
               std::int64_t ldc, const AfterGemm<double>& after) {
  using namespace cpu_blas_cc;
  tiled(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  finish(m, n, c, ldc, after);
}

void library_sgemm(int threads, std::int64_t n, const float* a, const float* b, float* c) {
  using namespace cpu_blas_cc;
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  set_own_threads(threads);
  library(false, false, n, n, n, 1.0f, a, n, b, n, 0.0f, c, n);
  set_own_threads(1);
  omp_set_num_threads(before);
}

const char* blas_version() { return openblas_get_config(); }

}  // namespace headroom
