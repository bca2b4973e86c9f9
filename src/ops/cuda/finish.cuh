#pragma once

#include "ops/cuda/types.cuh"
#include "ops/product/product.h"

namespace headroom::cuda {

__device__ inline float sigmoid_of(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }
__device__ inline double sigmoid_of(double x) { return 1.0 / (1.0 + exp(-x)); }
__device__ inline float tanh_of(float x) { return tanhf(x); }
__device__ inline double tanh_of(double x) { return tanh(x); }

// NaN passes all of them. A loop for each: a branch within would keep the elements from overlapping.
template <class C, int N>
__device__ inline void finish_values(Activation finish, C (&x)[N]) {
  if (finish == Activation::relu) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = x[i] < C{0} ? C{0} : x[i];
  } else if (finish == Activation::sigmoid) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = sigmoid_of(x[i]);
  } else if (finish == Activation::tanh) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = tanh_of(x[i]);
  }
}

}  // namespace headroom::cuda
