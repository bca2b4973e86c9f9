#pragma once

// Which elements a window holds, and which windows an element is in; sliding windows and adaptive ones alike.

#include "ops/cuda/types.cuh"
#include "ops/pool/cuda/exceeds.cuh"
#include "ops/pool/cuda/windows.h"

namespace headroom::cuda {

struct Taps {
  int begin, count, step;
  int shared;  // how many elements divide a mean
};

__device__ inline int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

__device__ inline Taps taps_of(const PoolAxis& a, int i, bool include_pad) {
  if (a.adaptive) {
    const auto begin = static_cast<int>(std::int64_t{i} * a.input / a.output);
    const auto end = static_cast<int>(((i + std::int64_t{1}) * a.input + a.output - 1) / a.output);
    return {begin, end - begin, 1, end - begin};
  }
  const int start = i * a.stride - a.pad;
  const auto taps_before = [&](int end) {
    return end <= start ? 0 : clamped((end - start + a.dilation - 1) / a.dilation, 0, a.kernel);
  };
  const int skipped = taps_before(0), all = taps_before(a.input);
  const int read = all > skipped ? all - skipped : 0;
  return {start + skipped * a.dilation, read, a.dilation,
          include_pad ? taps_before(a.input + a.pad_end) : read};
}

// The outputs whose windows may hold element h: first … last.
struct Span {
  int first, last;
};
__device__ inline Span outputs_of(const PoolAxis& a, int h) {
  if (a.adaptive)
    return {static_cast<int>(std::int64_t{h} * a.output / a.input),
            static_cast<int>(((h + std::int64_t{1}) * a.output - 1) / a.input)};
  const int reach = (a.kernel - 1) * a.dilation, at = h + a.pad;
  const int last = at / a.stride;
  return {at <= reach ? 0 : (at - reach + a.stride - 1) / a.stride, last < a.output ? last : a.output - 1};
}
// Between the elements of a dilated window there are others.
__device__ inline bool holds(const PoolAxis& a, int i, int h) {
  return a.adaptive || a.dilation == 1 || (h + a.pad - i * a.stride) % a.dilation == 0;
}

template <class C>
__device__ C lowest() {
  return -static_cast<C>(INFINITY);
}

template <class C>
struct Best {
  C value = lowest<C>();
  int at = -1;  // nothing seen yet

  __device__ void see(C x, int place) {
    if (at < 0 || exceeds(x, value)) value = x, at = place;
  }
  // Of equals the first in the plane stays: what two lanes found is in no order.
  __device__ void join(const Best& other) {
    if (other.at < 0) return;
    if (at < 0 || exceeds(other.value, value) || (!exceeds(value, other.value) && other.at < at))
      *this = other;
  }
};

}  // namespace headroom::cuda
