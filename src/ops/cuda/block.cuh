#pragma once

// Sums and maxima over the threads of a warp and of a block, in an order that never changes; and the block
// that finishes a launch: the last to arrive adds up what the others left in memory, so that one launch does.

#include "ops/cuda/types.cuh"

namespace headroom::cuda {

// Over `lanes` neighbouring threads, a power of two; every one of them gets the result. All of the warp must
// call.
template <class V>
__device__ inline V warp_sum(V x, int lanes = 32) {
  for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// A NaN is passed over: what is subtracted from the maximum afterwards keeps it.
template <class V>
__device__ inline V warp_max(V x, int lanes = 32) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    const V other = __shfl_xor_sync(~0u, x, step);
    x = other > x ? other : x;
  }
  return x;
}

// Over the block, of whole warps in one dimension; every thread gets the result.
template <class V>
__device__ inline V block_sum(V x) {
  __shared__ V parts[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = warp_sum(x);
  __syncthreads();  // who still reads an earlier sum
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? parts[lane] : V{0});
}

template <class V>
__device__ inline V block_max(V x) {
  __shared__ V parts[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = warp_max(x);
  __syncthreads();
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  return warp_max(parts[lane < blockDim.x / 32 ? lane : 0]);
}

// True in the block that is the last of `blocks` to call this; what the others wrote before can then be read
// with
// __ldcg. The counter starts at 0 and is 0 again afterwards. It is a __device__ variable, for a workspace
// holds anything at first: launches that share one must not overlap. Kernels that call this say so (counts in
// ops/kernel.h), and plans keep them on one stream.
__device__ inline bool last_to_arrive(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicInc(counter, blocks - 1) == blocks - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// The sum of parts[0, n) by one block; every thread gets it.
__device__ inline double block_total(const double* parts, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += __ldcg(parts + i);
  return block_sum(sum);
}

}  // namespace headroom::cuda
