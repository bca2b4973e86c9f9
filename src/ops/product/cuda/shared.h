#pragma once

// What the kernels of products share without a device: sizes, and places in memory.

#include <algorithm>

#include "ops/product/kernels.h"

namespace headroom::products {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t a, std::int64_t unit) { return ceil_div(a, unit) * unit; }
inline std::size_t accumulator_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

inline std::int64_t bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2; }

inline double batch_of(const Product& p) {
  double batch = 0;
  for (const ProductRun& run : p.runs) batch += double(run.count);
  return batch;
}
inline double outputs_of(const Product& p) { return batch_of(p) * double(p.m) * double(p.n); }

// FLOPs of one product of each pair of factors, in whole tiles of C and whole steps of k.
inline double whole_tile_flops(const Product& p, std::int64_t tile_m, std::int64_t tile_n,
                               std::int64_t depth) {
  return 2 * batch_of(p) * double(round_up(p.m, tile_m)) * double(round_up(p.n, tile_n)) *
         double(round_up(p.k, depth));
}

// Additions of warps with tiles of rows x columns whose factors are split before every 16 of k, each element
// by `splits`, and whose sums begin anew there: a share of the FLOPs of one product.
inline double split_share(int rows, int columns, int splits) {
  constexpr double kStep = 16;
  return (splits * kStep * (rows + columns) + double(rows) * columns) / (2 * kStep * rows * columns);
}

// How tiles multiply: products of parts for one of the problem's, and additions that split an element.
struct TileParts {
  int products = 1, splits = 0;
};
inline constexpr TileParts kOneProduct{}, kTf32Parts{.products = 3, .splits = 1};
double executed_in_tiles(const Product& product, const TilePlan& plan, const TileParts& parts);

// Additions of a thread that sums `values` over the lanes of its warp by halves, of a multiple of 16.
inline double exchanged_sums(std::int64_t values) { return double(round_up(values, 16)); }

// Columns that the kernels of few columns are made for: those past the end are zeros.
inline std::int64_t made_columns(std::int64_t columns) { return columns <= 4 ? 4 : columns <= 12 ? 12 : 16; }

// What tiles of C ask L2 for beyond the least: each asks for its rows of A and its columns of B.
inline double reloaded_bytes(const Product& p, std::int64_t tile_m, std::int64_t tile_n) {
  const double a = double(p.m) * double(ceil_div(p.n, tile_n) - 1),
               b = double(p.n) * double(ceil_div(p.m, tile_m) - 1);
  return double(bytes_of(p.dtype)) * batch_of(p) * double(p.k) * (a + b);
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
