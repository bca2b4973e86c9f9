#pragma once

// What softmax and cross-entropy share: exp(x - maximum) of a row and its sum, for a row in the registers of
// neighbouring threads and for one that a whole block goes through.

#include "ops/cuda/block.cuh"
#include "ops/cuda/index.cuh"
#include "ops/softmax/cuda/row_split.h"

namespace headroom::cuda {

// The row of this thread, its place among the row's threads, and the row's length: 0 past the last row, whose
// threads must still take part in the shuffles.
struct RowPlace {
  std::int64_t row;
  int lane, n;
};

__device__ inline RowPlace row_place(std::int64_t rows, int columns, int lanes) {
  const std::int64_t row = thread_number() / lanes;
  return {row, static_cast<int>(threadIdx.x) % lanes, row < rows ? columns : 0};
}

template <int kPer, class T>
__device__ inline void load_row(const T* x, const RowPlace& at, int lanes, Compute<T> fill, Compute<T>* v) {
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    const int c = k * lanes + at.lane;
    v[k] = c < at.n ? widen(x[c]) : fill;
  }
}

template <int kPer, class T>
__device__ inline void store_row(const Compute<T>* v, const RowPlace& at, int lanes, T* y) {
#pragma unroll
  for (int k = 0; k < kPer; ++k)
    if (const int c = k * lanes + at.lane; c < at.n) y[c] = narrow<T>(v[k]);
}

template <class C>
__device__ inline C least() {
  return -static_cast<C>(INFINITY);
}

template <class C>
struct RowSums {
  C most, sum;
};

// v becomes exp(v - most), or v - most if `shift`; what lies past the end of the row must be -infinity.
template <int kPer, class C>
__device__ inline RowSums<C> exp_row(C* v, int lanes, bool shift) {
  C most = least<C>(), sum = 0;
#pragma unroll
  for (int k = 0; k < kPer; ++k) most = v[k] > most ? v[k] : most;
  most = warp_max(most, lanes);
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    const C x = v[k] - most, e = exp(x);
    sum += e;
    v[k] = shift ? x : e;
  }
  return {most, warp_sum(sum, lanes)};
}

// The same of a row of any length, read by the whole block. It is kept in `cache` where that is not null;
// returns where to read it again.
template <class T>
__device__ inline const T* long_row_sums(const T* x, std::int64_t n, T* cache, RowSums<Compute<T>>* sums) {
  using C = Compute<T>;
  C most = least<C>(), sum = 0;
#pragma unroll 4
  for (std::int64_t c = threadIdx.x; c < n; c += blockDim.x) {
    const T v = x[c];
    if (cache != nullptr) cache[c] = v;
    most = widen(v) > most ? widen(v) : most;
  }
  most = block_max(most);
  const T* again = cache != nullptr ? cache : x;  // each thread reads back what it wrote itself
#pragma unroll 4
  for (std::int64_t c = threadIdx.x; c < n; c += blockDim.x) sum += exp(widen(again[c]) - most);
  *sums = {most, block_sum(sum)};
  return again;
}

// Shared memory for a cached row, or 0 where it is too long; raises the kernel's limit where need be.
template <class Kernel>
std::size_t row_cache(Kernel* kernel, std::size_t bytes) {
  int device = 0, most = 0;
  HEADROOM_CUDA_CHECK(cudaGetDevice(&device));
  HEADROOM_CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  constexpr std::size_t kOwn = 1024;  // what block sums take
  if (bytes + kOwn > static_cast<std::size_t>(most)) return 0;
  if (bytes + kOwn > 48 * 1024)
    HEADROOM_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  return bytes;
}
inline int long_row_threads(std::int64_t columns) { return columns < 8192 ? 256 : 1024; }

// Calls f.operator()<kPer>() with the elements per thread of a split.
template <class F>
void dispatch_per(int per, F&& f) {
  switch (per) {
    case 4:
      return f.template operator()<4>();
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    default:
      return f.template operator()<32>();
  }
}

}  // namespace headroom::cuda
