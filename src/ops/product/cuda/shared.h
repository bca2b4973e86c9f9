#pragma once

// What the kernels of products share without a device: sizes, and places in memory.

#include <algorithm>

#include "ops/product/kernels.h"

namespace headroom::products {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t a, std::int64_t unit) { return ceil_div(a, unit) * unit; }
inline std::size_t accumulator_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

inline std::int64_t bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2; }

// What tiles of C ask L2 for beyond the least: each asks for its rows of A and its columns of B.
inline double reloaded_bytes(const Product& p, std::int64_t tile_m, std::int64_t tile_n) {
  double batch = 0;
  for (const ProductRun& run : p.runs) batch += double(run.count);
  const double a = double(p.m) * double(ceil_div(p.n, tile_n) - 1),
               b = double(p.n) * double(ceil_div(p.m, tile_m) - 1);
  return double(bytes_of(p.dtype)) * batch * double(p.k) * (a + b);
}

inline const void* at(const void* base, std::int64_t elements, DType dtype) {
  return static_cast<const char*>(base) + elements * bytes_of(dtype);
}
inline void* at(void* base, std::int64_t elements, DType dtype) {
  return static_cast<char*>(base) + elements * bytes_of(dtype);
}

// Rows that all begin at multiples of 16 bytes.
inline bool whole_rows(const void* base, std::int64_t ld, std::int64_t stride, DType dtype) {
  const std::int64_t bytes = bytes_of(dtype);
  return reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && ld * bytes % 16 == 0 && stride * bytes % 16 == 0;
}

// What cuBLASLt may use for a product whose sums take `bytes`. 32 MiB is what NVIDIA recommends on Hopper; a
// small product is never cut into so many pieces.
inline std::size_t library_workspace(std::size_t bytes) {
  constexpr std::size_t kMax = std::size_t{32} << 20, kPieces = 32;
  return std::min(kMax, kPieces * bytes + (std::size_t{64} << 10));
}

// Writing both factors anew in parts of fp16 must cost little beside the product.
Verdict large_enough_to_split(const Product& product);

}  // namespace headroom::products
