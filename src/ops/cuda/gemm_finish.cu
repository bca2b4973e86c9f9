#include "ops/cuda/finish.cuh"
#include "ops/cuda/gemm_tiles.h"

namespace headroom::cuda {
namespace {

// One thread, N neighbours of one row. Bound by memory: reads every plane once.
template <class T, class From, int N>
__global__ void finish_planes(FinishArgs args, std::int64_t packs) {
  using C = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const From* from = static_cast<const From*>(args.from) + i * N;
  const std::int64_t plane = args.rows * args.n;
  C x[N] = {};
#pragma unroll 4
  for (int s = 0; s < args.pieces; ++s) {
    const Pack<From, N> piece = *reinterpret_cast<const Pack<From, N>*>(from + s * plane);
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] += static_cast<C>(widen(piece.v[e]));
  }
  if (args.bias != nullptr) {
    const std::int64_t at = i * N;
    const std::int64_t column =
        plane < 0x80000000LL ? static_cast<unsigned>(at) % static_cast<unsigned>(args.n) : at % args.n;
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] += widen(static_cast<const T*>(args.bias)[column + e]);
  }
  finish_values(args.finish, x);
  Pack<T, N> y;
#pragma unroll
  for (int e = 0; e < N; ++e) y.v[e] = narrow<T>(x[e]);
  reinterpret_cast<Pack<T, N>*>(args.c)[i] = y;
}

template <class T, class From>
void finish_as(const FinishArgs& args, cudaStream_t stream) {
  constexpr int kN = kPack<From>;
  const std::int64_t numel = args.rows * args.n;
  if (args.n % kN == 0 && aligned(args.from) && aligned(args.c))
    finish_planes<T, From, kN><<<blocks_for(numel / kN), kThreads, 0, stream>>>(args, numel / kN);
  else
    finish_planes<T, From, 1><<<blocks_for(numel), kThreads, 0, stream>>>(args, numel);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void finish_partials(DType dtype, const FinishArgs& args, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() { finish_as<T, Compute<T>>(args, stream); });
}

void finish_in_place(DType dtype, const FinishArgs& args, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() { finish_as<T, T>(args, stream); });
}

}  // namespace headroom::cuda
