#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom {

// One factor of a product of 8-bit integers, row-major, with what stands for zero in it.
struct ByteFactor {
  const std::uint8_t* data = nullptr;  // signed ones are stored in two's complement
  bool is_signed = false;
  std::int64_t ld = 0;
  const std::uint8_t* zeros = nullptr;  // of the same type
  bool zero_each = false;               // one for each row of a, for each column of b; else one for all
};

// C[m,n] = sum over k of (A[m,k] - zero)(B[k,n] - zero), exact in int32; sums that do not fit wrap around.
// `scratch` holds int8_gemm_scratch bytes. Inside a parallel region it runs on the calling thread alone, for
// which the scratch of one thread is enough.
void int8_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const ByteFactor& a, const ByteFactor& b,
               std::int32_t* c, std::int64_t ldc, void* scratch);
std::size_t int8_gemm_scratch(std::int64_t m, std::int64_t k, int threads);

}  // namespace headroom
