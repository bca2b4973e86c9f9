#pragma once

// Copies of factors in the order in which tiles of gemm read them.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/cpu/tile_transpose.h"

namespace headroom {

// A factor seen along its lines: rows of A, columns of B. One of the steps is 1.
template <class T>
struct GemmFactor {
  const T* data;
  std::int64_t line_step, term_step;
  const T* at(std::int64_t line, std::int64_t term) const {
    return data + line * line_step + term * term_step;
  }
};

// Lines that lie side by side: one run of memory for each term.
template <class T>
inline void pack_runs(const T* from, std::int64_t term_step, std::int64_t lines, std::int64_t terms,
                      std::int64_t width, T* to) {
  const auto bytes = static_cast<std::size_t>(lines) * sizeof(T);
  for (std::int64_t k = 0; k < terms; ++k) {
    std::memcpy(to + k * width, from + k * term_step, bytes);
    std::fill(to + k * width + lines, to + (k + 1) * width, T{0});
  }
}

// Lines whose terms lie side by side.
template <class T>
inline void pack_transposed(const T* from, std::int64_t line_step, std::int64_t lines, std::int64_t terms,
                            std::int64_t width, T* to) {
  constexpr std::int64_t kSide = kSquare<T>;
  const std::int64_t whole_lines = lines / kSide * kSide, whole_terms = terms / kSide * kSide;
  for (std::int64_t k = 0; k < whole_terms; k += kSide) {
    for (std::int64_t i = 0; i < whole_lines; i += kSide)
      transpose_square(from + i * line_step + k, line_step, to + k * width + i, width);
    for (std::int64_t i = whole_lines; i < lines; ++i)
      for (std::int64_t t = k; t < k + kSide; ++t) to[t * width + i] = from[i * line_step + t];
  }
  for (std::int64_t k = whole_terms; k < terms; ++k)
    for (std::int64_t i = 0; i < lines; ++i) to[k * width + i] = from[i * line_step + k];
  if (lines < width)
    for (std::int64_t k = 0; k < terms; ++k) std::fill(to + k * width + lines, to + (k + 1) * width, T{0});
}

// to[terms][width]: `lines` lines from `line` on, and zeros up to `width`.
template <class T>
inline void pack_panel(const GemmFactor<T>& factor, std::int64_t line, std::int64_t term, std::int64_t lines,
                       std::int64_t terms, std::int64_t width, T* to) {
  if (factor.line_step == 1)
    pack_runs(factor.at(line, term), factor.term_step, lines, terms, width, to);
  else
    pack_transposed(factor.at(line, term), factor.line_step, lines, terms, width, to);
}

}  // namespace headroom
