#pragma once

// Copies between two layouts of the same box of elements, on the device: slices and transpositions.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace headroom::cuda {

// Strides in elements. Axes stand in the order in which threads walk them, the fastest last.
struct BoxCopy {
  static constexpr int kMaxAxes = 8;
  int rank = 1;
  std::int64_t extent[kMaxAxes] = {1}, from[kMaxAxes] = {}, to[kMaxAxes] = {};
  std::int64_t from_offset = 0, to_offset = 0;
  // The last two axes run fastest in either layout, the last one in `to`: through tiles of shared memory.
  bool crosswise = false;
};

void copy_box(int element_bytes, const BoxCopy& copy, const void* from, void* to, cudaStream_t stream);

// A matrix `whole` whose rows are cut into pieces, each of which is a dense matrix of its own.
struct RowPieces {
  static constexpr int kMax = 8;
  std::int64_t rows = 1, row = 1;  // of the whole, in elements
  int count = 0;
  struct Piece {
    void* data = nullptr;  // null: zeros
    std::int64_t at = 0, length = 0;
  } piece[kMax];
};
// Pieces to the whole, or back.
void join_pieces(int element_bytes, const RowPieces& pieces, void* whole, cudaStream_t stream);
void cut_pieces(int element_bytes, const RowPieces& pieces, const void* whole, cudaStream_t stream);

}  // namespace headroom::cuda
