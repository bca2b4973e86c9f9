#pragma once

// Sums and other joins over the threads of a warp or a block, in a fixed order.

#include "ops/cuda/types.cuh"

namespace headroom::cuda {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Over groups of kLanes neighbours; every lane gets the result. All 32 lanes of the warp must be there.
template <int kLanes = 32, class V, class Join>
__device__ inline V fold_lanes(V x, Join&& join) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    x = join(x, __shfl_xor_sync(kAllLanes, x, distance));
  return x;
}

struct Plus {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};

template <int kLanes = 32, class V>
__device__ inline V sum_lanes(V x) {
  return fold_lanes<kLanes>(x, Plus{});
}

// Over a block of blockDim.x threads, a multiple of 32; every thread gets the result. `shared` holds 32
// values, and may be used again after the next barrier.
template <class V, class Join>
__device__ inline V fold_block(V x, V none, V* shared, Join&& join) {
  x = fold_lanes(x, join);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  return fold_lanes(lane < warps ? shared[lane] : none, join);
}

}  // namespace headroom::cuda
