#pragma once

// "cuda:clusters": fp32 products with fewer tiles of 64 x 64 than a Hopper GPU has multiprocessors. The
// blocks of a cluster share one tile: each takes a stretch of k, asks for all of it at once (as far as shared
// memory reaches) and multiplies by tensor cores, while its eight warps share each step of k. The sums meet
// in distributed shared memory, in the order of k. One launch, no workspace.

#include <cuda_runtime_api.h>

#include "ops/cuda/small_product.h"

namespace headroom::cuda {

struct ClusterArgs : SmallProduct {
  std::int64_t k_per_block;  // a multiple of kClusterDepth
  int blocks, stages;        // of a cluster, of the ring in shared memory
};
void multiply_clusters(const SmallLayout& layout, const ClusterArgs& args, cudaStream_t stream);

}  // namespace headroom::cuda
