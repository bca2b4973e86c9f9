// Bound by memory: one thread, one pack of 16 bytes.
#include "ops/cuda/index.cuh"
#include "ops/cuda/scale_add.h"

namespace headroom::cuda {
namespace {

template <class T, int N>
__global__ void scale_add_packs(Compute<T> alpha, Compute<T> beta, const T* add, T* out, std::int64_t packs) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    Pack<T, N> x = reinterpret_cast<const Pack<T, N>*>(out)[i], y{};
    if (add != nullptr) y = reinterpret_cast<const Pack<T, N>*>(add)[i];
#pragma unroll
    for (int e = 0; e < N; ++e)
      x.v[e] =
          narrow<T>(add == nullptr ? alpha * widen(x.v[e]) : alpha * widen(x.v[e]) + beta * widen(y.v[e]));
    reinterpret_cast<Pack<T, N>*>(out)[i] = x;
  }
}

template <class T>
void scale_add_as(Compute<T> alpha, Compute<T> beta, const T* add, T* out, std::int64_t count,
                  cudaStream_t stream) {
  constexpr int kN = kPack<T>;
  if (count % kN == 0 && aligned(add) && aligned(out))
    scale_add_packs<T, kN>
        <<<blocks_striding(count / kN), kThreads, 0, stream>>>(alpha, beta, add, out, count / kN);
  else
    scale_add_packs<T, 1><<<blocks_striding(count), kThreads, 0, stream>>>(alpha, beta, add, out, count);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void scale_add(DType dtype, double alpha, double beta, const void* add, void* out, std::int64_t count,
               cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    scale_add_as<T>(static_cast<Compute<T>>(alpha), static_cast<Compute<T>>(beta), static_cast<const T*>(add),
                    static_cast<T*>(out), count, stream);
  });
}

}  // namespace headroom::cuda
