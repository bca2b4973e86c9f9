#pragma once

// An element as kernels compare and add it: integers as they are, floats in the type they are computed in.

#include "ops/cuda/index.cuh"

namespace headroom::cuda {

__device__ inline long long value_of(long long x) { return x; }
__device__ inline int value_of(int x) { return x; }
__device__ inline int value_of(unsigned char x) { return x; }
__device__ inline int value_of(signed char x) { return x; }
template <class T>
__device__ inline Compute<T> value_of(T x) {
  return widen(x);
}

}  // namespace headroom::cuda
