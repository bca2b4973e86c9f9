#pragma once

// Products of fp32 matrices by the bf16 instructions of the processor (bf16_tile.h), with sums in fp32.
// Factors are rounded to bf16, or stand as sums of three bf16. The bits do not depend on the number of
// threads.

#include <cstdint>

#include "ops/cpu/after_gemm.h"
#include "ops/cpu/bf16_tile.h"

namespace headroom {

// A matrix that is not there as a whole: its rows are read piece by piece, such as the unrolled images of a
// convolution.
class ReadRows {
 public:
  virtual ~ReadRows() = default;
  // to[r * step + i] = element `position + i` of row `row + r`, for `rows` rows and `count` <= kMaxRead
  // elements.
  virtual void read(std::int64_t row, std::int64_t rows, std::int64_t position, std::int64_t count, float* to,
                    std::int64_t step) const = 0;
  static constexpr std::int64_t kMaxRead = 128;
};

// A factor seen along its lines: rows of A, columns of B.
struct Bf16Factor {
  const float* data = nullptr;
  std::int64_t line_step = 1, term_step = 1;  // one of them is 1
  const ReadRows* rows = nullptr;             // instead of data
  bool lines_are_rows = false;                // of `rows`; else its terms are
};

// C[m, n]: one matrix, or the columns of `plane` each of matrices side by side, such as the pixels of images.
struct Bf16Result {
  float* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t plane = 0, plane_step = 0;  // 0: one matrix
};

struct Bf16Product {
  std::int64_t m = 0, n = 0, k = 0;
  Bf16Factor a, b;
  Bf16Result to;
  float alpha = 1, beta = 0;  // C = alpha A B + beta C; C is not read if beta is 0
};

void bf16_gemm(const bf16::Version& version, const Bf16Product& product, const AfterGemm<float>& after = {});

// As gemm() of ops/cpu/gemm.h.
void bf16_gemm(const bf16::Version& version, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n,
               std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
               std::int64_t ldb, float beta, float* c, std::int64_t ldc, const AfterGemm<float>& after = {});

}  // namespace headroom
