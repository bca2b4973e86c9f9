#pragma once

#include <cuda_runtime_api.h>

#include "ops/product/product.h"

namespace headroom::cuda {

// One launch of "cuda:tiles": as many products as a run has, each in `splits` pieces of k.
struct TileArgs {
  const void *a, *b, *bias;  // bias may be null
  void* c;
  void* partial;  // [split][product][m][n] in the type of the sums; null where splits is 1
  std::int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, k_per_split;
  int batch, splits;
  bool whole_a, whole_b, whole_c;  // 16-byte accesses are allowed
  Activation finish;
};

// A kernel for one type, tile and pair of layouts, with what it must be launched with.
struct TileKernel {
  void (*function)(TileArgs);
  int tile, threads, shared_bytes;
};

// `along`: contiguous along k. Each in a file of its own, for the sake of the time it takes to compile them.
TileKernel tf32x3_kernel(int tile, bool along_a, bool along_b);
TileKernel bf16x6_kernel(int tile, bool along_a, bool along_b);
TileKernel tf32_kernel(bool along_a, bool along_b);
TileKernel half_kernel(bool along_a, bool along_b);
TileKernel brain_kernel(bool along_a, bool along_b);
TileKernel fp64_kernel(bool along_a, bool along_b);
TileKernel fp64_wide_kernel(bool along_a, bool along_b);  // tiles of 128 x 128

void allow_shared(const TileKernel& kernel);  // once, before the first launch on a device
void launch_tiles(const TileKernel& kernel, const TileArgs& args, cudaStream_t stream);

// c = f(sum of `pieces` planes + bias), planes of count x n one after the other, in the type of the sums.
struct FinishArgs {
  const void* from;
  void* c;           // rows of n, no gaps; may be `from` where that has c's type
  const void* bias;  // null: none
  std::int64_t rows, n;
  int pieces;
  Activation finish;
};
void finish_partials(DType dtype, const FinishArgs& args, cudaStream_t stream);
void finish_in_place(DType dtype, const FinishArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
