#pragma once

// Element types on the device. 16-bit floats are stored, never computed in: kernels widen what they read to
// fp32 and round what they write; fp64 stays fp64.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "base/dtype_kind.h"
#include "device/cuda/check.h"

namespace headroom::cuda {

using Half = __half;
using Brain = __nv_bfloat16;

template <class T>
struct ComputeOf {
  using type = float;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

__device__ inline double widen(double x) { return x; }
__device__ inline float widen(float x) { return x; }
__device__ inline float widen(Half x) { return __half2float(x); }
__device__ inline float widen(Brain x) { return __bfloat162float(x); }

template <class T>
__device__ inline T narrow(Compute<T> x) {
  return x;
}
template <>
__device__ inline Half narrow<Half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline Brain narrow<Brain>(float x) {
  return __float2bfloat16_rn(x);
}

// Calls f.operator()<T>() with the device's type of a float dtype.
template <class F>
void dispatch_floats(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f16:
      return f.template operator()<Half>();
    case DType::bf16:
      return f.template operator()<Brain>();
    default:
      return f.template operator()<float>();
  }
}

// Calls f.operator()<T>() with an unsigned type of the element's size, for kernels that only move elements.
template <class F>
void dispatch_sizes(int bytes, F&& f) {
  switch (bytes) {
    case 8:
      return f.template operator()<unsigned long long>();
    case 4:
      return f.template operator()<unsigned>();
    case 2:
      return f.template operator()<unsigned short>();
    default:
      return f.template operator()<unsigned char>();
  }
}

// What one load or store moves at the most.
template <class T>
inline constexpr int kPack = 16 / static_cast<int>(sizeof(T));
template <class T, int N = kPack<T>>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

inline bool aligned(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer) % 16 == 0; }

inline constexpr int kThreads = 256;
// Blocks for so many threads' worth of work. More than the hardware takes in one dimension is never needed:
// kernels step through what is left.
inline unsigned blocks_for(std::int64_t work, std::int64_t per_block = kThreads) {
  const std::int64_t blocks = (work + per_block - 1) / per_block;
  constexpr std::int64_t kMax = 0x7FFFFFFF;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < kMax ? blocks : kMax);
}

}  // namespace headroom::cuda
