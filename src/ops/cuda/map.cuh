#pragma once

// One function of up to three elements at the same place, over whole tensors: 16-byte accesses where the
// addresses allow them, two in flight per thread and operand. F is a struct with
//   template <class C> __device__ C operator()(C x [, C y [, C z]]) const
// that computes in C, fp32 or fp64.

#include "ops/cuda/loop.h"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {

inline constexpr int kInFlight = 2;

template <class T, int kInputs>
struct Operands {
  const T* in[kInputs];
  T* out;
};

template <class T, class F, int kInputs>
__device__ inline T apply(const F& f, const T* x) {
  if constexpr (kInputs == 1)
    return narrow<T>(f(widen(x[0])));
  else if constexpr (kInputs == 2)
    return narrow<T>(f(widen(x[0]), widen(x[1])));
  else
    return narrow<T>(f(widen(x[0]), widen(x[1]), widen(x[2])));
}

template <class T, int kInputs, class F>
__global__ void map_packs(std::int64_t packs, std::int64_t n, Operands<T, kInputs> at, F f) {
  using P = Pack<T>;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * kInFlight + threadIdx.x;
  P x[kInFlight][kInputs];
#pragma unroll
  for (int u = 0; u < kInFlight; ++u)
#pragma unroll
    for (int k = 0; k < kInputs; ++k)
      if (const std::int64_t p = first + u * blockDim.x; p < packs)
        x[u][k] = reinterpret_cast<const P*>(at.in[k])[p];
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    const std::int64_t p = first + u * blockDim.x;
    if (p >= packs) break;
    P y;
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      T element[kInputs];
#pragma unroll
      for (int k = 0; k < kInputs; ++k) element[k] = x[u][k].v[i];
      y.v[i] = apply<T, F, kInputs>(f, element);
    }
    reinterpret_cast<P*>(at.out)[p] = y;
  }
  // What is left after the last whole pack.
  if (blockIdx.x == 0)
    for (std::int64_t i = packs * kPack<T> + threadIdx.x; i < n; i += blockDim.x) {
      T element[kInputs];
#pragma unroll
      for (int k = 0; k < kInputs; ++k) element[k] = at.in[k][i];
      at.out[i] = apply<T, F, kInputs>(f, element);
    }
}

template <class T, int kInputs, class F>
__global__ void map_singles(std::int64_t n, Operands<T, kInputs> at, F f) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T element[kInputs];
#pragma unroll
  for (int k = 0; k < kInputs; ++k) element[k] = at.in[k][i];
  at.out[i] = apply<T, F, kInputs>(f, element);
}

// y[i] = f(inputs[0][i], …) for n elements. In place is allowed.
template <class T, int kInputs, class F>
void map(std::int64_t n, const Operands<T, kInputs>& at, const F& f, cudaStream_t stream) {
  bool whole = aligned(at.out);
  for (const T* in : at.in) whole &= aligned(in);
  const std::int64_t packs = n / kPack<T>;
  if (whole)
    map_packs<<<blocks_for(packs, kThreads * kInFlight), kThreads, 0, stream>>>(packs, n, at, f);
  else
    map_singles<<<blocks_for(n), kThreads, 0, stream>>>(n, at, f);
  HEADROOM_CUDA_LAUNCHED();
}

template <int kInputs>
__device__ inline void offsets_at(const Loop& loop, std::int64_t flat, std::int64_t* offset) {
#pragma unroll
  for (int k = 0; k < kInputs; ++k) offset[k] = 0;
  const bool small = loop.numel < 0x80000000LL;  // 32-bit division is several times cheaper
  for (int axis = loop.rank; axis-- > 0;) {
    std::int64_t index;
    if (small) {
      const auto extent = static_cast<unsigned>(loop.extent[axis]);
      index = static_cast<unsigned>(flat) % extent, flat = static_cast<unsigned>(flat) / extent;
    } else {
      index = flat % loop.extent[axis], flat /= loop.extent[axis];
    }
#pragma unroll
    for (int k = 0; k < kInputs; ++k) offset[k] += index * loop.step[axis][k];
  }
}

}  // namespace headroom::cuda
