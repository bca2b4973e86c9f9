#pragma once

// Sectors of L2 that tiles in shared memory take, by the copies and stores that the kernels of
// ops/cuda/gemm_tiles.cuh make.

#include "ops/product/cuda/shared.h"
#include "ops/sectors.h"

namespace headroom::products {

// A row that comes in chunks, one to a step of k. Rows that begin at multiples of 16 bytes travel in pieces
// of 16, past L1. A sector is asked for by two lanes, an even one and the next: where a row begins in the
// middle of a sector, the two ask for two sectors, and their neighbours for the halves that are left. Other
// rows travel element by element through L1, which asks once for each sector of a chunk.
inline double copied_bytes(std::int64_t length, std::int64_t chunk, std::int64_t element, std::int64_t ld) {
  constexpr std::int64_t kPiece = 16;
  const std::int64_t step = ld * element;
  if (step % kPiece != 0 || step % kSectorBytes == 0) return chunked_bytes(length, chunk, element, step);
  const double even = chunked_bytes(length, chunk, element, kSectorBytes);
  const std::int64_t pieces =
      length / chunk * ceil_div(chunk * element, kPiece) + ceil_div(length % chunk * element, kPiece);
  return (even + double(pieces * kSectorBytes)) / 2;  // every other row begins within a sector
}

// A factor of a product, once: `lines` rows of A or columns of B, contiguous along k or across it, which come
// in tiles of so many lines and steps of `depth`.
struct CopiedFactor {
  std::int64_t lines, k, ld;
  bool along_k;
  std::int64_t element, tile, depth;

  double bytes() const {
    return along_k ? double(lines) * copied_bytes(k, depth, element, ld)
                   : double(k) * copied_bytes(lines, tile, element, ld);
  }
};

struct TileShare {
  std::int64_t tile_m, tile_n, depth;
};

// Of both factors, for all tiles.
inline double copied_factors(const Product& p, const TileShare& t) {
  const std::int64_t element = bytes_of(p.dtype);
  const CopiedFactor a{p.m, p.k, p.lda, !p.trans_a, element, t.tile_m, t.depth},
      b{p.n, p.k, p.ldb, p.trans_b, element, t.tile_n, t.depth};
  return batch_of(p) *
         (a.bytes() * double(ceil_div(p.n, t.tile_n)) + b.bytes() * double(ceil_div(p.m, t.tile_m)));
}
// The same without those that are asked for in any case.
inline double more_for_factors(const Product& p, const TileShare& t) {
  return copied_factors(p, t) - double(bytes_of(p.dtype)) * batch_of(p) * double(p.m + p.n) * double(p.k);
}

// Results of one row where a thread has a piece of 16 bytes, and threads side by side a chunk of columns.
// Pieces that begin elsewhere are stored by their elements, two of which leave together: see tiles.cc.
inline double stored_row(std::int64_t n, std::int64_t chunk, std::int64_t element, std::int64_t step) {
  const std::int64_t times = step % 16 == 0 ? 1 : 16 / element / 2;
  return double(times) * chunked_bytes(n, chunk, element, step);
}
inline double more_for_results(const Product& p, std::int64_t chunk) {
  const std::int64_t element = bytes_of(p.dtype);
  return batch_of(p) * double(p.m) *
         (stored_row(p.n, chunk, element, p.ldc * element) - double(p.n * element));
}

// The L2 bytes of all launches of a plan, and the launch that adds up pieces of k. Neighbours: a thread has
// eight columns of a row, else two, and four threads eight.
void count_tile_sectors(Work& work, const Product& product, const TilePlan& plan, std::int64_t depth,
                        bool neighbours);

}  // namespace headroom::products
