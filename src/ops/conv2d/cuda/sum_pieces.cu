// The second launch of products that are summed in pieces.
#include "ops/conv2d/cuda/sum_pieces.h"

#include "ops/conv2d/cuda/device.cuh"

namespace headroom::cuda {
namespace {

constexpr int kSumWarps = kThreads / 32;

// 32 sums by a block; eight threads share one and are added up at the end.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_up(std::int64_t n, int pieces, const Compute<T>* __restrict__ partial, T* __restrict__ out,
           Epilogue finish) {
  using C = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * 32 + threadIdx.x % 32;
  C sum = 0;
  if (i < n)
#pragma unroll 8
    for (int piece = static_cast<int>(threadIdx.x) / 32; piece < pieces; piece += kSumWarps)
      sum += partial[piece * n + i];
  __shared__ C of_warp[kSumWarps][32];
  of_warp[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32 || i >= n) return;
  C total = 0;
#pragma unroll
  for (int k = 0; k < kSumWarps; ++k) total += of_warp[k][threadIdx.x];
  if (finish.bias != nullptr)
    total += widen(static_cast<const T*>(finish.bias)[i / finish.plane % finish.maps]);
  out[i] = narrow<T>(activate(finish.activation, total));
}

}  // namespace

void sum_pieces(DType dtype, std::int64_t n, int pieces, const void* partial, void* out, cudaStream_t stream,
                const Epilogue& finish) {
  const unsigned blocks = blocks_for(n, 32);
  dispatch_floats(dtype, [&]<class T>() {
    add_up<<<blocks, kThreads, 0, stream>>>(n, pieces, static_cast<const Compute<T>*>(partial),
                                            static_cast<T*>(out), finish);
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
