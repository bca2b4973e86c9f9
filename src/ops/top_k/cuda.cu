#include "ops/cuda/value_of.cuh"
#include "ops/top_k/comes_before.h"
#include "ops/top_k/cuda.h"

namespace headroom::cuda {
namespace {

// A warp for each line. Each result is the best of those that come after the one before: every lane searches
// its share, and the lanes agree on the best of all.
template <class T>
__global__ void __launch_bounds__(kThreads)
    by_warps(TopKShape s, const T* x, T* values, std::int64_t* indices) {
  const int lane = threadIdx.x % 32;
  for (std::int64_t line = thread_number() / 32; line < s.outer * s.inner; line += thread_count() / 32) {
    const Cut at = cut(line, s.inner);
    const T* column = x + at.whole * s.extent * s.inner + at.rest;
    long long last = -1;
    auto last_value = value_of(column[0]);
    for (std::int64_t rank = 0; rank < s.k; ++rank) {
      long long best = -1;
      auto best_value = last_value;
      for (std::int64_t e = lane; e < s.extent; e += 32) {
        const auto value = value_of(column[e * s.inner]);
        if (last >= 0 && !comes_before(last_value, last, value, e, s.largest)) continue;
        if (best < 0 || comes_before(value, e, best_value, best, s.largest)) best = e, best_value = value;
      }
      for (int apart = 16; apart > 0; apart /= 2) {
        const auto value = __shfl_xor_sync(0xFFFFFFFFU, best_value, apart);
        const long long there = __shfl_xor_sync(0xFFFFFFFFU, best, apart);
        if (there >= 0 && (best < 0 || comes_before(value, there, best_value, best, s.largest)))
          best = there, best_value = value;
      }
      last = best, last_value = best_value;
      if (lane != 0) continue;
      const std::int64_t to = (at.whole * s.k + rank) * s.inner + at.rest;
      values[to] = column[best * s.inner];
      indices[to] = best;
    }
  }
}

template <class T>
void launch(const TopKShape& s, const void* x, void* values, std::int64_t* indices, cudaStream_t stream) {
  by_warps<<<blocks_striding(s.outer * s.inner * 32), kThreads, 0, stream>>>(
      s, static_cast<const T*>(x), static_cast<T*>(values), indices);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void top_k(DType dtype, const TopKShape& shape, const void* x, void* values, std::int64_t* indices,
           cudaStream_t stream) {
  switch (dtype) {
    case DType::i64:
      return launch<long long>(shape, x, values, indices, stream);
    case DType::i32:
      return launch<int>(shape, x, values, indices, stream);
    default:
      return dispatch_floats(dtype, [&]<class T>() { launch<T>(shape, x, values, indices, stream); });
  }
}

}  // namespace headroom::cuda
