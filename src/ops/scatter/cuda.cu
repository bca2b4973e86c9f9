#include "ops/cuda/index.cuh"
#include "ops/scatter/combine.h"
#include "ops/scatter/cuda.h"

namespace headroom::cuda {
namespace {

template <class T>
__device__ inline T meet(Reduction how, T there, T update) {
  return combined(how, there, update);
}
__device__ inline Half meet(Reduction how, Half there, Half update) {
  return narrow<Half>(combined(how, widen(there), widen(update)));
}
__device__ inline Brain meet(Reduction how, Brain there, Brain update) {
  return narrow<Brain>(combined(how, widen(there), widen(update)));
}

// A thread copies its columns and goes through the updates in their order: no atomics, the same bits always.
template <class T>
__global__ void __launch_bounds__(kThreads)
    by_columns(ScatterShape s, const T* data, const void* places, const T* updates, T* y) {
  const auto how = static_cast<Reduction>(s.reduction);
  for (std::int64_t i = thread_number(); i < s.inner; i += thread_count()) {
    for (std::int64_t r = 0; r < s.extent; ++r) y[r * s.inner + i] = data[r * s.inner + i];
    for (std::int64_t k = 0; k < s.count; ++k) {
      std::int64_t row =
          s.wide_places ? static_cast<const long long*>(places)[k] : static_cast<const int*>(places)[k];
      if (row < 0) row += s.extent;
      if (row < 0 || row >= s.extent) continue;
      T& there = y[row * s.inner + i];
      there = meet(how, there, updates[k * s.inner + i]);
    }
  }
}

template <class T>
void launch(const ScatterShape& s, const void* data, const void* places, const void* updates, void* y,
            cudaStream_t stream) {
  by_columns<<<blocks_striding(s.inner), kThreads, 0, stream>>>(
      s, static_cast<const T*>(data), places, static_cast<const T*>(updates), static_cast<T*>(y));
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void scatter(DType dtype, const ScatterShape& shape, const void* data, const void* places,
             const void* updates, void* y, cudaStream_t stream) {
  switch (dtype) {
    case DType::i64:
      return launch<long long>(shape, data, places, updates, y, stream);
    case DType::i32:
      return launch<int>(shape, data, places, updates, y, stream);
    case DType::u8:
    case DType::boolean:
      return launch<unsigned char>(shape, data, places, updates, y, stream);
    default:
      return dispatch_floats(dtype, [&]<class T>() { launch<T>(shape, data, places, updates, y, stream); });
  }
}

}  // namespace headroom::cuda
