#include "ops/cpu/gemm.h"

#include <type_traits>

#include "ops/cpu/packed_gemm.h"
#include "ops/cpu/parallel.h"

namespace headroom {

void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc, const AfterGemm<float>& after) {
  packed_gemm(gemm_tile::used().f32, trans_a, trans_b, {m, n, k}, alpha, a, lda, b, ldb, beta, c, ldc, after);
}

void gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
          std::int64_t ldc, const AfterGemm<double>& after) {
  packed_gemm(gemm_tile::used().f64, trans_a, trans_b, {m, n, k}, alpha, a, lda, b, ldb, beta, c, ldc, after);
}

std::size_t wide_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>(m * k + k * n + m * n) * sizeof(double);
}

void gemm_wide(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
               std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
               void* scratch) {
  auto copy = [](std::int64_t rows, std::int64_t columns, const auto* from, std::int64_t from_pitch, auto* to,
                 std::int64_t to_pitch) {
    using To = std::remove_reference_t<decltype(*to)>;
    parallel_for(rows, kElementwiseGrain / columns + 1, [=](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t i = 0; i < columns; ++i)
          to[r * to_pitch + i] = static_cast<To>(from[r * from_pitch + i]);
    });
  };
  const std::int64_t a_columns = trans_a ? m : k, b_columns = trans_b ? k : n;
  auto* wide_a = static_cast<double*>(scratch);
  double *wide_b = wide_a + m * k, *wide_c = wide_b + k * n;
  copy(trans_a ? k : m, a_columns, a, lda, wide_a, a_columns);
  copy(trans_b ? n : k, b_columns, b, ldb, wide_b, b_columns);
  gemm(trans_a, trans_b, m, n, k, 1.0, wide_a, a_columns, wide_b, b_columns, 0.0, wide_c, n);
  copy(m, n, wide_c, n, c, ldc);
}

}  // namespace headroom
