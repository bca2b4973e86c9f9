#pragma once

// The arithmetic of fp16_parts.h.

#include "ops/cuda/fp16_parts.h"
#include "ops/cuda/fp16x3_scale.cuh"

namespace headroom::cuda {

// A whole number of at most 11 bits once it is multiplied by 255, but for the rounding of the division.
__device__ inline bool is_pixel(float x) {
  const float y = x * 255.0f, whole = rintf(y);
  return fabsf(whole) <= 2048 && fabsf(y - whole) <= 0x1p-22f * fabsf(whole);
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

// What takes the scales of both factors back.
__device__ inline double unscale_of(const PartsScale& a, const PartsScale& b) {
  return double{a.power} * double{b.power} / (double{a.base} * double{b.base});
}

}  // namespace headroom::cuda
