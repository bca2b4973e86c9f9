#pragma once

// Powers on short vectors. In single precision by exp(y log x) in double: then the error of the logarithm,
// which the exponential multiplies by y log x, stays below a rounding. Double precision would need more than
// double for that and calls the library, lane by lane.

#include <cmath>

#include "ops/cpu/vmath.h"

namespace headroom::simd {

inline Vec<double> pow(Vec<double> x, Vec<double> y) {
  Vec<double> z;
  for (int i = 0; i < kLanes<double>; ++i) z[i] = std::pow(x[i], y[i]);
  return z;
}

// |x|^y, in double; the edges that 0 * infinity would spoil are 1 by definition.
inline Vec<double> pow_of_size(Vec<double> x, Vec<double> y) {
  const Vec<double> one = broadcast(1.0);
  x = abs<double>(x);
  return (y == broadcast(0.0)) | (x == one) ? one : exp_wide<double>(y * log<double>(x));
}

inline Vec<float> pow(Vec<float> x, Vec<float> y) {
  constexpr int kHalf = kLanes<double>;
  alignas(kVectorBytes) double xs[2 * kHalf], ys[2 * kHalf];
  for (int i = 0; i < 2 * kHalf; ++i) xs[i] = double{x[i]}, ys[i] = double{y[i]};
  store(xs, pow_of_size(load(xs), load(ys)));
  store(xs + kHalf, pow_of_size(load(xs + kHalf), load(ys + kHalf)));
  Vec<float> z;
  for (int i = 0; i < 2 * kHalf; ++i) z[i] = static_cast<float>(xs[i]);

  // Of a negative number only whole powers exist, and odd ones keep its sign. From 2^23 on all floats are
  // whole, from 2^24 on even.
  const Vec<float> size = abs<float>(y), zero = broadcast(0.0f);
  const auto whole = [](Vec<float> v) {
    const float kRound = 8388608.0f;  // adding it leaves no place for a fraction
    return v == (v + kRound) - kRound;
  };
  const IntVec<float> any = (size >= broadcast(8388608.0f)) | whole(size);
  const IntVec<float> odd = any & (size < broadcast(16777216.0f)) & ~whole(size * 0.5f);
  z = (bits_of<float>(x) < 0) & odd ? -z : z;
  const IntVec<float> finite = x * 0.5f != x;
  return (x < zero) & ~any & finite ? zero / zero : z;
}

}  // namespace headroom::simd
