#pragma once

// Copies of factors in the order in which tiles of gemm read them.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/cpu/tile_transpose.h"

namespace headroom {

// Lines that lie side by side: one run of memory for each term, by pieces of known size, because calls of
// memcpy would take longer than the copies.
template <class T>
inline void pack_runs(const T* from, std::int64_t term_step, std::int64_t lines, std::int64_t terms,
                      std::int64_t width, T* to) {
  constexpr std::int64_t kLong = 64 / sizeof(T), kShort = 16 / sizeof(T);
  for (std::int64_t k = 0; k < terms; ++k, from += term_step, to += width) {
    std::int64_t i = 0;
    for (; i + kLong <= lines; i += kLong) std::memcpy(to + i, from + i, 64);
    for (; i + kShort <= lines; i += kShort) std::memcpy(to + i, from + i, 16);
    for (; i < lines; ++i) to[i] = from[i];
    for (; i < width; ++i) to[i] = 0;
  }
}

// Lines whose terms lie side by side, a square at a time: to[t * to_term + l], zeros from `lines` to `width`.
template <class T>
inline void pack_transposed(const T* from, std::int64_t line_step, std::int64_t lines, std::int64_t terms,
                            std::int64_t width, T* to, std::int64_t to_term) {
  constexpr std::int64_t kSide = kSquare<T>;
  const std::int64_t whole_terms = terms / kSide * kSide;
  for (std::int64_t k = 0; k < terms; k += kSide)
    for (std::int64_t i = 0; i < width; i += kSide) {
      if (i + kSide <= lines && k < whole_terms) {
        transpose_square(from + i * line_step + k, line_step, to + k * to_term + i, to_term);
        continue;
      }
      for (std::int64_t t = k; t < std::min(k + kSide, terms); ++t)
        for (std::int64_t l = i; l < std::min(i + kSide, width); ++l)
          to[t * to_term + l] = l < lines ? from[l * line_step + t] : T{0};
    }
}

// As a tile wants it: to[terms][width].
template <class T>
void pack_squares(const T* from, std::int64_t line_step, std::int64_t lines, std::int64_t terms,
                  std::int64_t width, T* to) {
  pack_transposed(from, line_step, lines, terms, width, to, width);
}

}  // namespace headroom
