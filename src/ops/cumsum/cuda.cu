#include "ops/cuda/value_of.cuh"
#include "ops/cumsum/cuda.h"

namespace headroom::cuda {
namespace {

// What sums are kept in.
template <class T>
struct SumOf {
  using type = Compute<T>;
  __device__ static T store(type x) { return narrow<T>(x); }
};
template <>
struct SumOf<long long> {
  using type = long long;
  __device__ static long long store(long long x) { return x; }
};
template <>
struct SumOf<int> {
  using type = int;
  __device__ static int store(int x) { return x; }
};

// Neighbouring threads have neighbouring columns.
template <class T>
__global__ void __launch_bounds__(kThreads) by_threads(CumsumShape s, const T* x, T* y) {
  for (std::int64_t r = thread_number(); r < s.outer * s.inner; r += thread_count()) {
    const Cut at = cut(r, s.inner);
    const std::int64_t line = at.whole * s.extent * s.inner + at.rest;
    typename SumOf<T>::type sum = 0;
    for (std::int64_t k = 0; k < s.extent; ++k) {
      const std::int64_t place = line + (s.reverse ? s.extent - 1 - k : k) * s.inner;
      const auto next = sum + value_of(x[place]);
      y[place] = SumOf<T>::store(s.exclusive ? sum : next);
      sum = next;
    }
  }
}

// Rows: a warp each, 32 elements at a time.
template <class T>
__global__ void __launch_bounds__(kThreads) by_warps(CumsumShape s, const T* x, T* y) {
  using S = typename SumOf<T>::type;
  const int lane = threadIdx.x % 32;
  for (std::int64_t r = thread_number() / 32; r < s.outer; r += thread_count() / 32) {
    S before = 0;
    for (std::int64_t begin = 0; begin < s.extent; begin += 32) {
      const std::int64_t k = begin + lane;
      const bool there = k < s.extent;
      const std::int64_t place = r * s.extent + (s.reverse ? s.extent - 1 - k : k);
      const S own = there ? S(value_of(x[place])) : S(0);
      S sum = own;
#pragma unroll
      for (int apart = 1; apart < 32; apart *= 2) {
        const S lower = __shfl_up_sync(0xFFFFFFFFU, sum, apart);
        if (lane >= apart) sum += lower;
      }
      S previous = __shfl_up_sync(0xFFFFFFFFU, sum, 1);
      if (lane == 0) previous = 0;
      if (there) y[place] = SumOf<T>::store(before + (s.exclusive ? previous : sum));
      before += __shfl_sync(0xFFFFFFFFU, sum, 31);
    }
  }
}

template <class T>
void launch(const CumsumShape& s, const void* x, void* y, cudaStream_t stream) {
  if (s.inner == 1)
    by_warps<<<blocks_striding(s.outer * 32), kThreads, 0, stream>>>(s, static_cast<const T*>(x),
                                                                     static_cast<T*>(y));
  else
    by_threads<<<blocks_striding(s.outer * s.inner), kThreads, 0, stream>>>(s, static_cast<const T*>(x),
                                                                            static_cast<T*>(y));
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void cumsum(DType dtype, const CumsumShape& shape, const void* x, void* y, cudaStream_t stream) {
  switch (dtype) {
    case DType::i64:
      return launch<long long>(shape, x, y, stream);
    case DType::i32:
      return launch<int>(shape, x, y, stream);
    default:
      return dispatch_floats(dtype, [&]<class T>() { launch<T>(shape, x, y, stream); });
  }
}

}  // namespace headroom::cuda
