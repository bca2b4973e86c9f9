#pragma once

// The product behind gemm(), with any version of the inner loop. Blocks of both factors are packed for the
// caches by the whole team, then each thread multiplies its share of the result. Sums over many terms of few
// tiles are split at the ends of blocks, and added in order.

#include "ops/cpu/gemm.h"
#include "ops/cpu/gemm_tile.h"

namespace headroom {

struct GemmExtent {
  std::int64_t m, n, k;
};

template <class T>
void packed_gemm(const gemm_tile::Tile<T>& tile, bool trans_a, bool trans_b, const GemmExtent& extent,
                 T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                 std::int64_t ldc, const AfterGemm<T>& after = {});

// How many of up to `limit` threads finish it earliest.
template <class T>
int product_threads(const gemm_tile::Tile<T>& tile, const GemmExtent& extent, int limit);

}  // namespace headroom
