#pragma once

// The arithmetic of fp16_parts.h.

#include "ops/cuda/fp16_parts.h"
#include "ops/cuda/fp16x3_scale.cuh"

namespace headroom::cuda {

// How far x is from a pixel: a whole number once it is multiplied by 255, but for the rounding of the
// division. Nothing above zero: it is one, if that number has at most 11 bits. NaN for infinities and NaN.
__device__ inline float off_pixel(float x) {
  constexpr float kRounds = 12582912;  // 1.5 2^23: no fraction is left of a sum with it
  const float y = x * 255.0f, whole = (y + kRounds) - kRounds;
  return fabsf(y - whole) - 0x1p-22f * fabsf(whole);
}

// For values of at most `largest`, given by its bits. The scale is base / power.
__device__ inline PartsScale scale_of(unsigned largest, float base, int parts) {
  constexpr unsigned kLargestFinite = 0x7F7FFFFF;
  const unsigned scaled = min(__float_as_uint(__uint_as_float(largest) * base), kLargestFinite);
  return {power_of_two(254 - scale_exponent(scaled)), base, static_cast<float>(parts), 0};
}

struct Halves {
  Half hi, lo;
};
// `factor`: 1 / power.
__device__ inline Halves halves_of(float x, float factor, float base) {
  const float scaled = base == 1 ? x * factor : rintf(x * base) * factor;
  const Half hi = __float2half_rn(scaled);
  return {hi, __float2half_rn(scaled - __half2float(hi))};  // lo of an infinity: NaN
}

// Takes the scales of both factors back. At once their powers of two could be more than a float holds, each
// half of the exponent cannot; and the halves have one sign, so that nothing overflows or vanishes on the way
// that does not in the end.
class UnscaleParts {
 public:
  __device__ UnscaleParts(const PartsScale& a, const PartsScale& b) {
    const int exponent = (__float_as_int(a.power) >> 23) + (__float_as_int(b.power) >> 23) - 254;
    first_ = power_of_two(127 + exponent / 2) / (a.base * b.base);
    second_ = power_of_two(127 + exponent - exponent / 2);
  }
  __device__ float operator()(float x) const { return x * first_ * second_; }

 private:
  float first_, second_;
};

}  // namespace headroom::cuda
