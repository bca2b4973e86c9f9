#include "ops/count_correct/cuda.h"

#include "ops/cuda/block.cuh"
#include "ops/cuda/index.cuh"
#include "ops/cuda/labels.cuh"

namespace headroom::cuda {
namespace {

__device__ unsigned correct_arrivals;
__device__ unsigned long long correct_total;  // integers: the order of additions does not matter

// The label is the first maximum when all before it are less and none after it is more. `lanes` threads share
// a row: a power of two up to 32, or the whole block.
template <class T>
__global__ void compare(std::int64_t rows, std::int64_t classes, int lanes, const T* scores, Labels labels,
                        T* count) {
  const std::int64_t row = thread_number() / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  bool right = true;
  if (row < rows) {
    const T* x = scores + row * classes;
    const std::int64_t label = labels[row];
    right = label >= 0 && label < classes;
    if (right) {
      const auto most = widen(x[label]);
      right = most == most;
#pragma unroll 4
      for (std::int64_t c = lane; c < classes; c += lanes) {
        const auto v = widen(x[c]);
        right &= c < label ? v < most : c > label ? v <= most : true;
      }
    }
  } else {
    right = false;
  }
  // One voice for each row.
  int correct;
  if (lanes > 32) {
    correct = __syncthreads_and(right) != 0;
  } else {
    for (int step = lanes / 2; step > 0; step /= 2)
      right &= __shfl_xor_sync(~0u, static_cast<int>(right), step) != 0;
    correct = __syncthreads_count(right && lane == 0);
  }
  if (threadIdx.x == 0) atomicAdd(&correct_total, static_cast<unsigned long long>(correct));
  if (!last_to_arrive(&correct_arrivals, gridDim.x)) return;
  if (threadIdx.x == 0) *count = narrow<T>(static_cast<Compute<T>>(atomicExch(&correct_total, 0ull)));
}

}  // namespace

void count_correct(DType dtype, std::int64_t rows, std::int64_t classes, const void* scores,
                   const void* labels, bool wide_labels, void* count, cudaStream_t stream) {
  int lanes = 4;
  while (lanes < 32 && lanes * 4 < classes) lanes *= 2;
  if (classes > 4096) lanes = kThreads;
  dispatch_floats(dtype, [&]<class T>() {
    compare<<<blocks_for(rows, kThreads / lanes), kThreads, 0, stream>>>(
        rows, classes, lanes, static_cast<const T*>(scores), Labels{labels, wide_labels},
        static_cast<T*>(count));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
