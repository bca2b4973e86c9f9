#pragma once

#include "ops/cuda/types.cuh"
#include "ops/product/product.h"

namespace headroom::cuda {

__device__ inline float sigmoid_of(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }
__device__ inline double sigmoid_of(double x) { return 1.0 / (1.0 + exp(-x)); }
// A polynomial near zero, which errs by at most 6.5e-8 of the value in fp32, else by the exponential. Both
// are computed, whatever x is: a branch would make the elements of a thread wait for one another. So the
// exponential is volatile, else the compiler moves it into one. Large values make it infinite, and y 1; NaN
// stays NaN.
__device__ inline float tanh_of(float x) {
  const float z = x * x, size = fabsf(x);
  float p = -0.006542542f;
  p = fmaf(p, z, 0.0212727483f), p = fmaf(p, z, -0.0539033477f);
  p = fmaf(p, z, 0.133330823f), p = fmaf(p, z, -0.333333318f);
  float power, inverse;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(size * 2.885390082f));
  asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1 + power));
  return size < 0.55f ? fmaf(x, z * p, x) : copysignf(fmaf(-2, inverse, 1), x);
}
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
