#pragma once

// The blocks of a product. Part of packed_gemm.cc.

#include <algorithm>
#include <cstdint>

#include "ops/cpu/gemm_shares.h"
#include "ops/cpu/gemm_tile.h"

namespace headroom::packed {

// A block of A has so many rows for each row of threads: B comes from the third-level cache once for all of
// them. A block of B has so many columns.
inline constexpr std::int64_t kBlockRows = 768, kBlockColumns = 3072;
// A factor that meets few panels of the other one is read where it is: copying it would take longer than it
// saves. Terms of B are rows, often pages apart: then a B beyond the first caches is copied sooner.
inline constexpr std::int64_t kInPlacePanelsOfA = 16, kInPlacePanels = 8, kInPlacePanelsFarApart = 2,
                              kInPlaceBytes = 128 << 10, kNearBytes = 2048, kRunTerms = 16;
inline constexpr std::int64_t kFewPanels = 16;
inline constexpr std::int64_t kAddedColumns = 256;  // of partial sums at a time

// What is multiplied at a time. The places are those of its packed factors and of its sums.
template <class T>
struct Block {
  std::int64_t row, rows, column, columns, term, terms;
  T *a, *b, *c;
  std::int64_t ldc;
  T beta;
};

// A function of k and the tile alone, because it decides how sums are rounded.
template <class T>
std::int64_t block_terms(const gemm_tile::Tile<T>& tile, std::int64_t k) {
  return even_pieces(k, tile.term_bytes / std::int64_t{sizeof(T)}, 4);
}

// A factor seen along its lines: rows of A, columns of B. One of the steps is 1.
template <class T>
struct GemmFactor {
  const T* data;
  std::int64_t line_step, term_step;
  const T* at(std::int64_t line, std::int64_t term) const {
    return data + line * line_step + term * term_step;
  }
};

}  // namespace headroom::packed
