#pragma once

#include "ops/integer_product/cuda.h"

namespace headroom::cuda {

// One launch of "cuda:tiles": `count` products of matrices at constant distances. Rows of a and b begin at
// multiples of 16 bytes; the matrices of c follow one another.
struct ByteTileArgs {
  Bytes a, b;  // data: of the first product
  std::int32_t* c;
  std::int64_t m, n, k, lda, ldb, stride_a, stride_b;
  unsigned count;
  bool whole_c;  // 16-byte stores are allowed
};

// A kernel for one tile and pair of types, with what it must be launched with.
struct ByteTileKernel {
  void (*function)(ByteTileArgs);
  int tile, threads, shared_bytes;
};
ByteTileKernel byte_tile_kernel(int tile, bool signed_a, bool signed_b);  // tile: 64 or 128

void allow_shared(const ByteTileKernel& kernel);  // once, before the first launch on a device
void launch_byte_tiles(const ByteTileKernel& kernel, const ByteTileArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
