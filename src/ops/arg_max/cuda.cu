#include "ops/arg_max/cuda.h"
#include "ops/arg_max/replaces.h"
#include "ops/cuda/value_of.cuh"

namespace headroom::cuda {
namespace {

// Neighbouring threads have neighbouring columns.
template <class T>
__global__ void __launch_bounds__(kThreads) by_threads(ArgShape s, const T* x, std::int64_t* y) {
  for (std::int64_t r = thread_number(); r < s.outer * s.inner; r += thread_count()) {
    const Cut at = cut(r, s.inner);
    const T* column = x + at.whole * s.extent * s.inner + at.rest;
    auto best = value_of(column[0]);
    std::int64_t where = 0;
    for (std::int64_t k = 1; k < s.extent; ++k)
      if (const auto next = value_of(column[k * s.inner]); replaces(next, best, s.least, s.last))
        best = next, where = k;
    y[r] = where;
  }
}

// Rows: a warp each. Lanes that saw nothing hold -1 and never win.
template <class T>
__global__ void __launch_bounds__(kThreads) by_warps(ArgShape s, const T* x, std::int64_t* y) {
  const int lane = threadIdx.x % 32;
  for (std::int64_t r = thread_number() / 32; r < s.outer; r += thread_count() / 32) {
    const T* row = x + r * s.extent;
    auto best = value_of(row[lane < s.extent ? lane : 0]);
    long long where = lane < s.extent ? lane : -1;
    for (std::int64_t k = lane + 32; k < s.extent; k += 32)
      if (const auto next = value_of(row[k]); replaces(next, best, s.least, s.last)) best = next, where = k;
    for (int apart = 16; apart > 0; apart /= 2) {
      const auto other = __shfl_xor_sync(0xFFFFFFFFU, best, apart);
      const long long there = __shfl_xor_sync(0xFFFFFFFFU, where, apart);
      if (there < 0) continue;
      // The later of the two asks to take the earlier one's place.
      const bool later = there > where;
      const bool takes = where < 0 || (later ? replaces(other, best, s.least, s.last)
                                             : !replaces(best, other, s.least, s.last));
      if (takes) best = other, where = there;
    }
    if (lane == 0) y[r] = where;
  }
}

template <class T>
void launch(const ArgShape& s, const void* x, std::int64_t* y, cudaStream_t stream) {
  const auto* from = static_cast<const T*>(x);
  if (s.inner == 1)
    by_warps<<<blocks_striding(s.outer * 32), kThreads, 0, stream>>>(s, from, y);
  else
    by_threads<<<blocks_striding(s.outer * s.inner), kThreads, 0, stream>>>(s, from, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void arg_max(DType dtype, const ArgShape& shape, const void* x, std::int64_t* y, cudaStream_t stream) {
  switch (dtype) {
    case DType::i64:
      return launch<long long>(shape, x, y, stream);
    case DType::i32:
      return launch<int>(shape, x, y, stream);
    case DType::i8:
      return launch<signed char>(shape, x, y, stream);
    case DType::u8:
    case DType::boolean:
      return launch<unsigned char>(shape, x, y, stream);
    default:
      return dispatch_floats(dtype, [&]<class T>() { launch<T>(shape, x, y, stream); });
  }
}

}  // namespace headroom::cuda
