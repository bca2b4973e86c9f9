// The gradient of a maximum: its ties are marked, and after they are counted each gets its share.
#include "ops/cuda/index.cuh"
#include "ops/cuda/map.cuh"
#include "ops/reduce/cuda/stages.h"

namespace headroom::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads) mark(Loop loop, const T* x, const T* y, T* marked) {
  for (std::int64_t i = thread_number(); i < loop.numel; i += thread_count()) {
    std::int64_t at[2];
    offsets_at<2>(loop, i, at);
    marked[i] = narrow<T>(widen(x[i]) == widen(y[at[1]]) ? 1 : 0);
  }
}

// Without any tie the quotient is infinite or NaN, and NaN is what all get: as the reference has it.
template <class T>
__global__ void __launch_bounds__(kThreads) share(Loop loop, const T* dy, const Compute<T>* ties, T* marked) {
  for (std::int64_t i = thread_number(); i < loop.numel; i += thread_count()) {
    std::int64_t at[2];
    offsets_at<2>(loop, i, at);
    marked[i] = narrow<T>(widen(marked[i]) * (widen(dy[at[1]]) / ties[at[1]]));
  }
}

}  // namespace

void mark_equal(DType dtype, const Loop& loop, const void* x, const void* y, void* marked,
                cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    mark<<<blocks_striding(loop.numel), kThreads, 0, stream>>>(
        loop, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(marked));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void share_marked(DType dtype, const Loop& loop, const void* dy, const void* ties, void* marked,
                  cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    share<<<blocks_striding(loop.numel), kThreads, 0, stream>>>(
        loop, static_cast<const T*>(dy), static_cast<const Compute<T>*>(ties), static_cast<T*>(marked));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
