// Bound by memory: a thread reads or writes 16 bytes of the copy at once; on the other side the elements of a
// warp are a few runs of memory, whose sectors come from the cache after the first.
#include "ops/conv2d/cudnn/device.h"
#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

template <class T, bool kFold>
__global__ void __launch_bounds__(kThreads) fold(Folding f, unsigned vectors, const T* x, T* y) {
  constexpr int kElements = 16 / sizeof(T);
  struct alignas(16) Vector {
    T element[kElements];
  };
  for (auto i = static_cast<unsigned>(thread_number()); i < vectors; i += gridDim.x * kThreads) {
    Vector v;
    if constexpr (!kFold) v = reinterpret_cast<const Vector*>(x)[i];
    FoldedPlace place(f, i, kElements);
#pragma unroll
    for (int k = 0; k < kElements; ++k, place.next()) {
      const std::int64_t source = place.source();
      if constexpr (kFold)
        v.element[k] = source < 0 ? T{0} : x[source];
      else if (source >= 0)
        y[source] = v.element[k];
    }
    if constexpr (kFold) reinterpret_cast<Vector*>(y)[i] = v;
  }
}

template <class T>
void launch(const Folding& f, bool folds, const void* x, void* y, cudaStream_t stream) {
  const unsigned vectors = f.vectors(16 / sizeof(T)), blocks = blocks_striding(vectors);
  const auto* in = static_cast<const T*>(x);
  auto* out = static_cast<T*>(y);
  if (folds)
    fold<T, true><<<blocks, kThreads, 0, stream>>>(f, vectors, in, out);
  else
    fold<T, false><<<blocks, kThreads, 0, stream>>>(f, vectors, in, out);
  HEADROOM_CUDA_LAUNCHED();
}

// Elements are moved, not computed with: their size is all that counts.
void launch(DType dtype, const Folding& f, bool folds, const void* x, void* y, cudaStream_t stream) {
  if (dtype == DType::f64)
    launch<std::uint64_t>(f, folds, x, y, stream);
  else if (dtype == DType::f32)
    launch<std::uint32_t>(f, folds, x, y, stream);
  else
    launch<std::uint16_t>(f, folds, x, y, stream);
}

}  // namespace

void conv2d_fold(DType dtype, const Folding& f, const void* images, void* copy, cudaStream_t stream) {
  launch(dtype, f, true, images, copy, stream);
}

void conv2d_unfold(DType dtype, const Folding& f, const void* copy, void* images, cudaStream_t stream) {
  launch(dtype, f, false, copy, images, stream);
}

}  // namespace headroom::cuda
