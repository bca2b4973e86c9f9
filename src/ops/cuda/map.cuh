#pragma once

// One function of up to three elements at the same place, over whole tensors: 16-byte accesses where the
// addresses allow them, several in flight per thread and operand. F is a struct with
//   template <class C> __device__ C operator()(C x [, C y [, C z]]) const
// that computes in C, fp32 or fp64.

#include "ops/cuda/loop.h"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {

// The shape of the loop. Which is best is measured at 400 MB a tensor, where memory is the bound.
inline constexpr int kInFlight = 1;       // packs of each operand that a thread has under way
inline constexpr int kMapThreads = 128;   // of a block
inline constexpr bool kUnguarded = true;  // blocks that are full compare no thread's place with the end
inline constexpr bool kStreams = false;   // data is marked as read and written once
inline constexpr std::int64_t kMapBlocks = 0x7FFFFFFF;  // at the most; blocks step through what is left

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

template <class T>
__device__ inline Pack<T> read_pack(const T* from) {
  if constexpr (kStreams) {
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(from));
    return *reinterpret_cast<const Pack<T>*>(&bits);
  }
  return *reinterpret_cast<const Pack<T>*>(from);
}

template <class T>
__device__ inline void write_pack(T* to, const Pack<T>& pack) {
  if constexpr (kStreams)
    __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(&pack));
  else
    *reinterpret_cast<Pack<T>*>(to) = pack;
}

// kInFlight packs of this thread, from number `first` on, a block apart. read(p, x) fetches pack p of every
// operand. kFull: the end is not near.
template <bool kFull, class T, int kInputs, class F, class Read>
__device__ inline void map_few(std::int64_t first, std::int64_t packs, T* out, const F& f, const Read& read) {
  Pack<T> x[kInFlight][kInputs];
#pragma unroll
  for (int u = 0; u < kInFlight; ++u)
    if (const std::int64_t p = first + u * blockDim.x; kFull || p < packs) read(p, x[u]);
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    const std::int64_t p = first + u * blockDim.x;
    if (!kFull && p >= packs) break;
    Pack<T> y;
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      T element[kInputs];
#pragma unroll
      for (int k = 0; k < kInputs; ++k) element[k] = x[u][k].v[i];
      y.v[i] = apply<T, F, kInputs>(f, element);
    }
    write_pack(out + p * kPack<T>, y);
  }
}

// The packs of a block. Where they begin is the same for all its threads, and so is the branch.
template <class T, int kInputs, class F, class Read>
__device__ inline void map_all(std::int64_t packs, T* out, const F& f, const Read& read) {
  const std::int64_t tile = std::int64_t{blockDim.x} * kInFlight;
  for (std::int64_t begin = blockIdx.x * tile; begin < packs; begin += gridDim.x * tile)
    if (kUnguarded && begin + tile <= packs)
      map_few<true, T, kInputs>(begin + threadIdx.x, packs, out, f, read);
    else
      map_few<false, T, kInputs>(begin + threadIdx.x, packs, out, f, read);
}

template <class T>
unsigned map_blocks(std::int64_t elements) {
  const std::int64_t blocks = blocks_for(elements / kPack<T>, kMapThreads * kInFlight);
  return static_cast<unsigned>(blocks < kMapBlocks ? blocks : kMapBlocks);
}

template <class T, int kInputs, class F>
__global__ void __launch_bounds__(kMapThreads) map_packs(std::int64_t n, Operands<T, kInputs> at, F f) {
  const std::int64_t packs = n / kPack<T>;
  map_all<T, kInputs>(packs, at.out, f, [&](std::int64_t p, Pack<T>(&x)[kInputs]) {
#pragma unroll
    for (int k = 0; k < kInputs; ++k) x[k] = read_pack(at.in[k] + p * kPack<T>);
  });
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
  if (whole)
    map_packs<<<map_blocks<T>(n), kMapThreads, 0, stream>>>(n, at, f);
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
