#include "ops/cuda/index.cuh"
#include "ops/non_zero/cuda.h"

namespace headroom::cuda {
namespace {

__device__ inline bool holds(long long x) { return x != 0; }
__device__ inline bool holds(int x) { return x != 0; }
__device__ inline bool holds(unsigned char x) { return x != 0; }
template <class T>
__device__ inline bool holds(T x) {
  return widen(x) != Compute<T>{0};
}

// One block goes through all elements, a stretch of one per thread at a time; finds are numbered by ballots.
template <class T>
__global__ void __launch_bounds__(kThreads)
    one_block(NonZeroShape s, const T* x, std::int64_t* places, std::int64_t* count) {
  constexpr int kWarps = kThreads / 32;
  __shared__ int in_warp[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::int64_t before = 0;  // found in earlier stretches, the same in every thread
  for (std::int64_t begin = 0; begin < s.numel; begin += kThreads) {
    const std::int64_t i = begin + threadIdx.x;
    const bool here = i < s.numel && holds(x[i]);
    const unsigned found = __ballot_sync(0xFFFFFFFFU, here);
    if (lane == 0) in_warp[warp] = __popc(found);
    __syncthreads();
    std::int64_t column = before;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) column += in_warp[w];
      before += in_warp[w];
    }
    if (here) {
      column += __popc(found & ((1u << lane) - 1));
      std::int64_t rest = i;
      for (int a = s.rank; a-- > 0;) {
        const Cut at = cut(rest, s.extent[a]);
        places[a * s.numel + column] = at.rest;
        rest = at.whole;
      }
    }
    __syncthreads();
  }
  for (int a = 0; a < s.rank; ++a)
    for (std::int64_t column = before + threadIdx.x; column < s.numel; column += kThreads)
      places[a * s.numel + column] = 0;
  if (threadIdx.x == 0) *count = before;
}

template <class T>
void launch(const NonZeroShape& s, const void* x, std::int64_t* places, std::int64_t* count,
            cudaStream_t stream) {
  one_block<<<1, kThreads, 0, stream>>>(s, static_cast<const T*>(x), places, count);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void non_zero(DType dtype, const NonZeroShape& shape, const void* x, std::int64_t* places,
              std::int64_t* count, cudaStream_t stream) {
  switch (dtype) {
    case DType::i64:
      return launch<long long>(shape, x, places, count, stream);
    case DType::i32:
      return launch<int>(shape, x, places, count, stream);
    case DType::u8:
    case DType::boolean:
      return launch<unsigned char>(shape, x, places, count, stream);
    default:
      return dispatch_floats(dtype, [&]<class T>() { launch<T>(shape, x, places, count, stream); });
  }
}

}  // namespace headroom::cuda
