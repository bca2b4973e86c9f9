// A thread makes one block of random numbers, for the four elements they belong to. In fp32 memory bounds it;
// in 16 bit the generator's ten rounds do.
#include "ops/dropout/cuda/blocks.h"

#include "base/random.h"
#include "ops/cuda/index.cuh"
#include "ops/cuda/philox.cuh"

namespace headroom::cuda {
namespace {

template <class T>
__global__ void drop(Dropout how, bool whole, const double* step, const T* x, T* y) {
  using C = Compute<T>;
  using P = Pack<T, 4>;
  const std::int64_t block = how.first / 4 + thread_number();
  const std::int64_t i =
      block * 4 - how.first;  // of the block's first element; below 0 where another device has it
  if (i >= how.n) return;
  const bool full = whole && i + 4 <= how.n;
  P pack;
  if (full)
    pack = *reinterpret_cast<const P*>(x + i);
  else
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (i + k >= 0 && i + k < how.n) pack.v[k] = x[i + k];
  const std::uint64_t stream = stream_of(static_cast<std::uint64_t>(*step), how.key);
  const PhiloxBlock random = philox(how.seed, stream, static_cast<std::uint64_t>(block));
  const auto scale = static_cast<C>(how.scale);
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (full || (i + k >= 0 && i + k < how.n))
      pack.v[k] = narrow<T>(random.word[k] < how.threshold ? C{0} : widen(pack.v[k]) * scale);
  if (full)
    *reinterpret_cast<P*>(y + i) = pack;
  else
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (i + k >= 0 && i + k < how.n) y[i + k] = pack.v[k];
}

}  // namespace

void dropout(DType dtype, const Dropout& how, const double* step, const void* x, void* y,
             cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const bool whole =
        how.first % 4 == 0 && aligned_to(x, sizeof(Pack<T, 4>)) && aligned_to(y, sizeof(Pack<T, 4>));
    const std::int64_t blocks = (how.first % 4 + how.n + 3) / 4;
    drop<<<blocks_for(blocks), kThreads, 0, stream>>>(how, whole, step, static_cast<const T*>(x),
                                                      static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
