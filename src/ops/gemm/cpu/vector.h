#pragma once

// Register tiles of vectors, for "cpu:vector" and "cpu:threaded". A block of b, kGemmDepth terms of up to
// kGemmWidth columns, is copied to panels as wide as a register tile; then every group of rows of a is copied
// once and meets all panels. A tile's sums stay in registers for kGemmDepth terms.

#include <algorithm>

#include "ops/cpu/simd.h"
#include "ops/gemm/cpu/rungs.h"

namespace headroom {

inline constexpr std::int64_t kGemmDepth = 256, kGemmWidth = 768;

// Sums in registers: 18 vectors where there are 32 registers, 12 where there are 16. The rest holds a term of
// both factors; with more sums the compiler moves some to memory.
inline constexpr int kGemmRows = 6;
#if defined(__aarch64__) || defined(__AVX512F__)
inline constexpr int kGemmVectors = 3;
#else
inline constexpr int kGemmVectors = 2;
#endif
template <class T>
inline constexpr int kGemmColumns = kGemmVectors* simd::kLanes<T>;
static_assert(kGemmWidth % kGemmColumns<float> == 0 && kGemmWidth % kGemmColumns<double> == 0);

inline std::int64_t gemm_panels(std::int64_t extent, std::int64_t panel) {
  return (extent + panel - 1) / panel;
}

template <class T>
std::size_t gemm_packed_bytes(const GemmProblem& p) {
  const std::int64_t columns = gemm_panels(std::min(p.n, kGemmWidth), kGemmColumns<T>) * kGemmColumns<T>;
  return static_cast<std::size_t>(std::min(p.k, kGemmDepth) * columns) * sizeof(T);
}

// `lines` lines of an operand to [k][kLines]; what is missing becomes 0.
template <class T, int kLines>
void gemm_pack(const T* from, std::int64_t lines, std::int64_t depth, std::int64_t line_step,
               std::int64_t k_step, T* to) {
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < kLines; ++i)
      to[k * kLines + i] = i < lines ? from[i * line_step + k * k_step] : T{0};
  }
}

// sums[kGemmRows][kGemmColumns] of `depth` terms.
template <class T>
void multiply_tile(std::int64_t depth, const T* left, const T* right, T* sums) {
  using simd::Vec;
  constexpr int kL = simd::kLanes<T>;
  Vec<T> s[kGemmRows][kGemmVectors] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec<T> b[kGemmVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kGemmVectors; ++v) b[v] = simd::load(right + k * kGemmColumns<T> + v * kL);
      // Unrolled by force: a loop that stays would keep the sums in memory.
#pragma GCC unroll 8
    for (int r = 0; r < kGemmRows; ++r) {
      const Vec<T> a = simd::broadcast<T>(left[k * kGemmRows + r]);
#pragma GCC unroll 8
      for (int v = 0; v < kGemmVectors; ++v) s[r][v] += a * b[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kGemmRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kGemmVectors; ++v) simd::store(sums + r * kGemmColumns<T> + v * kL, s[r][v]);
}

// The first terms set the output, later ones are added to it.
template <class T>
void gemm_store(const GemmProblem& p, std::int64_t row, std::int64_t column, bool first, const T* sums,
                const T* add, T* out) {
  const std::int64_t rows = std::min<std::int64_t>(kGemmRows, p.m - row),
                     columns = std::min<std::int64_t>(kGemmColumns<T>, p.n - column);
  const T alpha = static_cast<T>(p.alpha);
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* const sum = sums + i * kGemmColumns<T>;
    const std::int64_t at = (row + i) * p.n + column;
    if (first)
      for (std::int64_t j = 0; j < columns; ++j) out[at + j] = gemm_scaled(p, sum[j], add, at + j);
    else
      for (std::int64_t j = 0; j < columns; ++j) out[at + j] += alpha * sum[j];
  }
}

// `each(count, body)` calls body(begin, end) for all of [0, count): here, or on a team of threads.
template <class T, class Each>
void gemm_by_vectors(const GemmProblem& p, const T* a, const T* b, const T* add, T* out, T* packed,
                     Each&& each) {
  constexpr std::int64_t kColumns = kGemmColumns<T>;
  for (std::int64_t j0 = 0; j0 < p.n; j0 += kGemmWidth)
    for (std::int64_t k0 = 0; k0 < p.k; k0 += kGemmDepth) {
      const std::int64_t depth = std::min(kGemmDepth, p.k - k0);
      const std::int64_t panels = gemm_panels(std::min(kGemmWidth, p.n - j0), kColumns);
      each(panels, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t panel = begin; panel < end; ++panel) {
          const std::int64_t column = j0 + panel * kColumns;
          gemm_pack<T, kGemmColumns<T>>(b + column * p.b_column() + k0 * p.b_k(), p.n - column, depth,
                                        p.b_column(), p.b_k(), packed + panel * kColumns * depth);
        }
      });
      each(gemm_panels(p.m, kGemmRows), [&](std::int64_t begin, std::int64_t end) {
        T left[kGemmRows * kGemmDepth], sums[kGemmRows * kColumns];
        for (std::int64_t group = begin; group < end; ++group) {
          const std::int64_t row = group * kGemmRows;
          gemm_pack<T, kGemmRows>(a + row * p.a_row() + k0 * p.a_k(), p.m - row, depth, p.a_row(), p.a_k(),
                                  left);
          for (std::int64_t panel = 0; panel < panels; ++panel) {
            multiply_tile(depth, left, packed + panel * kColumns * depth, sums);
            gemm_store(p, row, j0 + panel * kColumns, k0 == 0, sums, add, out);
          }
        }
      });
    }
}

// A tile of R x C outputs loads R + C elements for R C products.
inline double gemm_vector_loads(DType dtype) {
  const double columns = dtype == DType::f64 ? kGemmColumns<double> : kGemmColumns<float>;
  return 1.0 / kGemmRows + 1.0 / columns;
}

inline std::size_t gemm_vector_workspace(const Problem& problem, const Target&) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  return problem.outputs[0].dtype == DType::f64 ? gemm_packed_bytes<double>(p) : gemm_packed_bytes<float>(p);
}

}  // namespace headroom
