#include "ops/squared_error/cuda.h"

#include "ops/cuda/block.cuh"
#include "ops/cuda/index.cuh"
#include "ops/cuda/labels.cuh"
#include "ops/cuda/map.cuh"

namespace headroom::cuda {
namespace {

__device__ unsigned error_arrivals;

// A pack's squares in the type of the arithmetic, all else in fp64.
template <class T>
__global__ void sum_errors(std::int64_t n, double count, bool whole, const T* a, const T* b, double* parts,
                           T* loss) {
  using C = Compute<T>;
  using P = Pack<T>;
  const std::int64_t packs = whole ? n / kPack<T> : 0;
  double sum = 0;
#pragma unroll 2
  for (std::int64_t p = thread_number(); p < packs; p += thread_count()) {
    const P x = reinterpret_cast<const P*>(a)[p], t = reinterpret_cast<const P*>(b)[p];
    C part = 0;
#pragma unroll
    for (int k = 0; k < kPack<T>; ++k) {
      const C d = widen(x.v[k]) - widen(t.v[k]);
      part += d * d;
    }
    sum += part;
  }
  for (std::int64_t i = packs * kPack<T> + thread_number(); i < n; i += thread_count()) {
    const C d = widen(a[i]) - widen(b[i]);
    sum += d * d;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  if (!last_to_arrive(&error_arrivals, gridDim.x)) return;
  sum = block_total(parts, gridDim.x);
  if (threadIdx.x == 0) *loss = narrow<T>(static_cast<Compute<T>>(sum / count));
}

template <class T>
struct Slope {
  const T* dloss;
  double share;  // 2 / count
  template <class C>
  __device__ C operator()(C a, C b) const {
    return (a - b) * static_cast<C>(double{widen(*dloss)} * share);
  }
};

template <class T>
__global__ void mark(std::int64_t n, std::int64_t classes, Labels labels, T* y) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const Cut at = cut(i, classes);
    const std::int64_t label = labels[at.whole];
    const bool known = label >= 0 && label < classes;
    y[i] = narrow<T>(!known ? static_cast<Compute<T>>(NAN) : at.rest == label ? 1 : 0);
  }
}

}  // namespace

void squared_error(DType dtype, std::int64_t n, double count, std::int64_t blocks, const void* a,
                   const void* b, double* parts, void* loss, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    sum_errors<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
        n, count, aligned(a) && aligned(b), static_cast<const T*>(a), static_cast<const T*>(b), parts,
        static_cast<T*>(loss));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void squared_error_grad(DType dtype, std::int64_t n, double count, const void* dloss, const void* a,
                        const void* b, void* out, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    map<T, 2>(n, {{static_cast<const T*>(a), static_cast<const T*>(b)}, static_cast<T*>(out)},
              Slope<T>{static_cast<const T*>(dloss), 2 / count}, stream);
  });
}

void one_hot(DType dtype, std::int64_t rows, std::int64_t classes, const void* labels, bool wide_labels,
             void* y, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    mark<<<blocks_striding(rows * classes), kThreads, 0, stream>>>(
        rows * classes, classes, Labels{labels, wide_labels}, static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
