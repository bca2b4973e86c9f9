#pragma once

// Blocks of a cluster, on Hopper and later: they run at the same time and read each other's shared memory. On
// earlier cards kernels that use it are never launched, but their code must compile.

#include <cstdint>

#include "device/cuda/check.h"

namespace headroom::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define HEADROOM_CLUSTER(code) __trap()
#else
#define HEADROOM_CLUSTER(code) code
#endif

__device__ inline unsigned cluster_rank() {
  unsigned rank = 0;
  HEADROOM_CLUSTER(asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)));
  return rank;
}

// All threads of all blocks. What was written to shared memory before they arrive is seen by the others once
// they waited; what is done in between needs nothing of the other blocks.
__device__ inline void arrive_in_cluster() {
  HEADROOM_CLUSTER(asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"));
}
__device__ inline void wait_for_cluster() {
  HEADROOM_CLUSTER(asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"));
}
__device__ inline void sync_cluster() { arrive_in_cluster(), wait_for_cluster(); }

// Where a place in shared memory lies in the block of this rank.
__device__ inline unsigned address_in_cluster(unsigned address, unsigned rank) {
  unsigned there = 0;
  HEADROOM_CLUSTER(asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank)));
  return there;
}

__device__ inline float load_of_cluster(unsigned address) {
  float value = 0;
  HEADROOM_CLUSTER(asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory"));
  return value;
}
__device__ inline float4 load_four_of_cluster(unsigned address) {
  float4 v{};
  HEADROOM_CLUSTER(asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                                : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                                : "r"(address)
                                : "memory"));
  return v;
}
__device__ inline void store_two_in_cluster(unsigned address, uint2 values) {
  HEADROOM_CLUSTER(
      asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(values.x), "r"(values.y)
                   : "memory"));
}

// Until the launch before this one in the stream is over, with all that it wrote: see ClusterLaunch::early.
// No wait where the launch is an ordinary one.
__device__ inline void wait_for_launch_before() {
  HEADROOM_CLUSTER(asm volatile("griddepcontrol.wait;" ::: "memory"));
}
// An early launch after this one may start once all blocks said so.
__device__ inline void let_launch_after_start() {
  HEADROOM_CLUSTER(asm volatile("griddepcontrol.launch_dependents;" ::: "memory"));
}

#undef HEADROOM_CLUSTER

// Is what is queued on the stream kept for later runs?
inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  HEADROOM_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusActive;
}

struct ClusterLaunch {
  std::int64_t blocks;
  int threads, shared_bytes;
  int together;  // blocks of a cluster; a multiple of them is launched
  // It may start while the launch before still runs: all its threads call wait_for_launch_before, and until
  // then none of them writes, nor reads what other launches write.
  bool early = false;
};
template <class... Parameters, class... Args>
void launch_in_clusters(void (*kernel)(Parameters...), const ClusterLaunch& launch, cudaStream_t stream,
                        const Args&... args) {
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (launch.together > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {static_cast<unsigned>(launch.together), 1, 1};
  }
  if (launch.early) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  HEADROOM_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, args...));
}

}  // namespace headroom::cuda
