#pragma once

// The arithmetic of fp16_parts.h.

#include "ops/cuda/fp16_parts.h"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {

// A whole number of at most 11 bits once it is multiplied by 255, but for the rounding of the division.
__device__ inline bool is_pixel(float x) {
  const float y = x * 255.0f, whole = rintf(y);
  return fabsf(whole) <= 2048 && fabsf(y - whole) <= 0x1p-22f * fabsf(whole);
}

// For values of at most `largest`, given by its bits. The scale is base / power. Powers stay between 2^-126
// and 2^113: values below 2^-112 are brought as far up as a float can.
__device__ inline PartsScale scale_of(unsigned largest, float base, int parts) {
  const unsigned scaled = __float_as_uint(__uint_as_float(largest) * base);
  const int exponent = static_cast<int>(scaled >> 23);
  const int clamped = exponent < 15 ? 15 : exponent > 254 ? 254 : exponent;
  return {__int_as_float((clamped - 14) << 23), base, static_cast<float>(parts), 0};
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

// What takes the scales of both factors back.
__device__ inline double unscale_of(const PartsScale& a, const PartsScale& b) {
  return double{a.power} * double{b.power} / (double{a.base} * double{b.base});
}

}  // namespace headroom::cuda
