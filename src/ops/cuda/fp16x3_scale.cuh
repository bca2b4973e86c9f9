#pragma once

// The scales of gemm_fp16x3.h and fp16_parts.h.

#include "ops/cuda/types.cuh"

namespace headroom::cuda {

// The power of two that brings the largest value to between 2^14 and 2^15, as a biased exponent: 14 to 253.
// Below 2^-112 it stays at 2^126, the most that a float holds.
__device__ inline int scale_exponent(unsigned largest) {
  const int exponent = static_cast<int>(largest >> 23);
  return 268 - (exponent < 15 ? 15 : exponent);
}
__device__ inline float power_of_two(int biased) { return __int_as_float(biased << 23); }

// Takes both scales back. At once they could be more than a float holds, each half of their exponent cannot;
// and the halves have one sign, so that nothing overflows or vanishes on the way that does not in the end.
class Unscale {
 public:
  __device__ explicit Unscale(const unsigned* largest) {
    const int exponent = 254 - scale_exponent(largest[0]) - scale_exponent(largest[1]), half = exponent / 2;
    first_ = power_of_two(127 + half), second_ = power_of_two(127 + exponent - half);
  }
  __device__ float operator()(float x) const { return x * first_ * second_; }

 private:
  float first_, second_;
};

}  // namespace headroom::cuda
