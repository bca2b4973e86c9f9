#include "ops/cuda/map.cuh"
#include "ops/where/cuda.h"

namespace headroom::cuda {
namespace {

template <class T>
__global__ void pick(Loop loop, const std::uint8_t* c, const T* a, const T* b, T* y) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= loop.numel) return;
  std::int64_t at[3];
  offsets_at<3>(loop, i, at);
  const T* from = c[at[0]] != 0 ? a : b;
  const std::int64_t offset = c[at[0]] != 0 ? at[1] : at[2];
  y[i] = from == nullptr ? T{} : from[offset];
}

}  // namespace

void where(int element_bytes, const Loop& loop, const std::uint8_t* c, const void* a, const void* b, void* y,
           cudaStream_t stream) {
  dispatch_sizes(element_bytes, [&]<class T>() {
    pick<<<blocks_for(loop.numel), kThreads, 0, stream>>>(loop, c, static_cast<const T*>(a),
                                                          static_cast<const T*>(b), static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
