#include "ops/binary/cuda/stretch.h"
#include "ops/binary/integers.h"
#include "ops/cuda/index.cuh"
#include "ops/cuda/map.cuh"

namespace headroom::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine(const __grid_constant__ Loop loop, IntegerOp op, const T* a, const T* b, T* out) {
  for (std::int64_t i = thread_number(); i < loop.numel; i += thread_count()) {
    std::int64_t at[2];
    offsets_at<2>(loop, i, at);
    out[i] = apply_integer(op, a[at[0]], b[at[1]]);
  }
}

template <class T>
void launch(IntegerOp op, const Loop& loop, const void* a, const void* b, void* out, cudaStream_t stream) {
  combine<<<blocks_striding(loop.numel), kThreads, 0, stream>>>(
      loop, op, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out));
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void binary_integers(bool wide, int op, const Loop& loop, const void* a, const void* b, void* out,
                     cudaStream_t stream) {
  (wide ? launch<std::int64_t> : launch<std::int32_t>)(static_cast<IntegerOp>(op), loop, a, b, out, stream);
}

}  // namespace headroom::cuda
