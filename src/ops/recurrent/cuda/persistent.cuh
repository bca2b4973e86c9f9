#pragma once

// A product of one block: weights in shared memory [rows][terms + pad] times up to 16 items, whose terms are
// loaded 256 at a time while the last ones are multiplied. A thread adds 8 rows x 4 items over a slice of the
// terms; then the slices are added up.

#include "device/cuda/check.h"
#include "ops/cuda/mma.cuh"
#include "ops/recurrent/cuda/persistent.h"

namespace headroom::cuda {

// Where a block works.
struct PersistentPlace {
  std::int64_t lane, unit_block, dir;
  __device__ explicit PersistentPlace(const PersistentPlan& p)
      : lane(blockIdx.x % p.lanes),
        unit_block(blockIdx.x / p.lanes % p.unit_blocks),
        dir(blockIdx.x / p.lanes / p.unit_blocks) {}
  __device__ unsigned* counter(const PersistentPlan& p, unsigned* counters) const {
    return counters + dir * p.lanes + lane;
  }
  __device__ std::int64_t first_unit(const PersistentPlan& p) const { return unit_block * p.units; }
};

struct PersistentMemory {
  float *weights, *items, *sums;
  __device__ PersistentMemory(float* shared, const PersistentPlan& p)
      : weights(shared), items(shared + p.weight_floats()), sums(items + 2 * PersistentPlan::item_floats()) {}
};

// Up to 16 items of a tile: `count` rows of `ld` floats each.
struct PersistentItems {
  const float* from;
  std::int64_t ld;
  int count;
};
__device__ inline PersistentItems items_of(const float* all, std::int64_t ld, std::int64_t tile,
                                           std::int64_t batch) {
  const std::int64_t first = tile * PersistentPlan::kItems, left = batch - first;
  return {all + first * ld, ld,
          left < PersistentPlan::kItems ? static_cast<int>(left) : PersistentPlan::kItems};
}

// The terms from `first` on; zeros where there are none.
__device__ inline void load_items(const PersistentPlan& p, const PersistentItems& items, std::int64_t first,
                                  float* to) {
  constexpr int kQuads = PersistentPlan::kDepth / 4, kRow = PersistentPlan::kDepth + PersistentPlan::kPad;
  for (int e = threadIdx.x; e < PersistentPlan::kItems * kQuads; e += PersistentPlan::kThreads) {
    const int item = e / kQuads, k = e % kQuads * 4;
    const bool there = item < items.count && first + k < p.terms;
    copy_async<16>(to + item * kRow + k, there ? items.from + item * items.ld + first + k : items.from,
                   there ? 16 : 0);
  }
  commit_copies();
}

__device__ inline float4 quad(const float* x) { return *reinterpret_cast<const float4*>(x); }

// Adds the products of one slice of `depth` terms from `first` on.
__device__ inline void add_products(const PersistentPlan& p, const float* weights, const float* items,
                                    int depth, int slice, float (&sum)[8][4]) {
  constexpr int kRow = PersistentPlan::kDepth + PersistentPlan::kPad;
  const std::int64_t ld = p.terms + PersistentPlan::kPad;
  for (int k = 4 * slice; k < depth; k += 4 * p.slices()) {
    float4 x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = quad(items + 4 * j * kRow + k);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 w = quad(weights + p.groups * i * ld + k);
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] += w.x * x[j].x + w.y * x[j].y + w.z * x[j].z + w.w * x[j].w;
    }
  }
}

// m.sums[row * 16 + item] of the block's rows; all threads may read them afterwards.
__device__ inline void multiply_items(const PersistentPlan& p, const PersistentMemory& m,
                                      const PersistentItems& tile) {
  constexpr int kItems = PersistentPlan::kItems, kDepth = PersistentPlan::kDepth,
                kRow = kDepth + PersistentPlan::kPad;
  const int across = threadIdx.x % 4, group = threadIdx.x / 4 % p.groups,
            slice = threadIdx.x / (4 * p.groups);
  const float* weights = m.weights + group * (p.terms + PersistentPlan::kPad);
  float sum[8][4] = {};
  load_items(p, tile, 0, m.items);
  for (std::int64_t first = 0, n = 0; first < p.terms; first += kDepth, ++n) {
    const bool more = first + kDepth < p.terms;
    if (more) {
      load_items(p, tile, first + kDepth, m.items + (n + 1) % 2 * PersistentPlan::item_floats());
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncthreads();
    add_products(p, weights + first, m.items + n % 2 * PersistentPlan::item_floats() + across * kRow,
                 more ? kDepth : static_cast<int>(p.terms - first), slice, sum);
    __syncthreads();  // before these items are overwritten
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      m.sums[(slice * p.rows() + group + p.groups * i) * kItems + across + 4 * j] = sum[i][j];
  __syncthreads();
  for (int e = threadIdx.x; e < p.rows() * kItems; e += PersistentPlan::kThreads) {
    float total = m.sums[e];
    for (int s = 1; s < p.slices(); ++s) total += m.sums[s * p.rows() * kItems + e];
    m.sums[e] = total;
  }
  __syncthreads();
}

// Waits until all `blocks` blocks that share these items are here for the `turn`th time.
__device__ inline void meet(unsigned* counter, std::int64_t blocks, std::int64_t turn) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1U);
    unsigned here = 0;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(here) : "l"(counter) : "memory");
    } while (here < static_cast<unsigned>(blocks * turn));
    __threadfence();
  }
  __syncthreads();
}

// All blocks at once: they wait for each other.
template <class Task>
void launch_together(void (*kernel)(Task), const PersistentPlan& plan, std::int64_t dirs, Task task,
                     cudaStream_t stream) {
  const auto bytes = static_cast<int>(plan.shared_bytes());
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  void* arguments[] = {&task};
  HEADROOM_CUDA_CHECK(cudaLaunchCooperativeKernel(
      reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(plan.blocks(dirs))),
      dim3(PersistentPlan::kThreads), arguments, static_cast<std::size_t>(bytes), stream));
}

}  // namespace headroom::cuda
