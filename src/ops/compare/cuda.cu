#include "ops/compare/cuda.h"
#include "ops/cuda/map.cuh"
#include "ops/cuda/value_of.cuh"

namespace headroom::cuda {
namespace {

template <class C>
__device__ inline bool holds(int how, C a, C b) {
  switch (how) {
    case 0:
      return a == b;
    case 1:
      return a < b;
    case 2:
      return a <= b;
    case 3:
      return a > b;
    case 4:
      return a >= b;
    case 5:
      return a != C{0} && b != C{0};
    case 6:
      return a != C{0} || b != C{0};
    case 7:
      return (a != C{0}) != (b != C{0});
    default:
      return a == C{0};
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    compare_all(const __grid_constant__ Loop loop, int how, const T* a, const T* b, std::uint8_t* y) {
  for (std::int64_t i = thread_number(); i < loop.numel; i += thread_count()) {
    std::int64_t at[2];
    offsets_at<2>(loop, i, at);
    y[i] = holds(how, value_of(a[at[0]]), value_of(b[at[1]]));
  }
}

template <class T>
void launch(int how, const Loop& loop, const void* a, const void* b, std::uint8_t* y, cudaStream_t stream) {
  compare_all<<<blocks_striding(loop.numel), kThreads, 0, stream>>>(loop, how, static_cast<const T*>(a),
                                                                    static_cast<const T*>(b), y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void compare(DType dtype, int how, const Loop& loop, const void* a, const void* b, std::uint8_t* y,
             cudaStream_t stream) {
  switch (dtype) {
    case DType::i64:
      return launch<long long>(how, loop, a, b, y, stream);
    case DType::i32:
      return launch<int>(how, loop, a, b, y, stream);
    case DType::i8:
      return launch<signed char>(how, loop, a, b, y, stream);
    case DType::u8:
    case DType::boolean:
      return launch<unsigned char>(how, loop, a, b, y, stream);
    default:
      return dispatch_floats(dtype, [&]<class T>() { launch<T>(how, loop, a, b, y, stream); });
  }
}

}  // namespace headroom::cuda
