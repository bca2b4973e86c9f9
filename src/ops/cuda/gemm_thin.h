#pragma once

// "cuda:thin": fp32 products of at most 16 rows or columns whose large operand is contiguous along k, in one
// launch that keeps all multiprocessors busy. A cluster of blocks takes some rows and shares k, so that each
// block reads only its part of the small operand; the sums meet in shared memory of the cluster instead of a
// second pass through memory. Where rows are few and short, blocks take some rows each by themselves, and it
// is their warps that share k. The small operand may lie along k or across it.

#include "ops/cuda/gemm_skinny.h"

namespace headroom::cuda {

// args.splits blocks of a cluster share k.
void thin(int rows_of_warp, const SkinnyArgs& args, cudaStream_t stream);
// args.k_per_split is a warp's share of k; 4 or 8 rows.
void thin_in_slices(int rows_of_block, const SkinnyArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
