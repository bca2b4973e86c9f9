#pragma once

// Images in shared memory for cuda:pixel_runs. The frame of zeros around them is written once: images of the
// same size follow one another.

#include "ops/conv2d/cuda/device.cuh"
#include "ops/conv2d/cuda/pixel_runs.h"
#include "ops/cuda/mma.cuh"

namespace headroom::cuda {

// The last group of maps begins early enough to be whole.
template <int kMaps>
__device__ inline int first_map_of(const Sweep& s, int map_group) {
  return min(map_group * kMaps, s.maps - kMaps);
}

// Zeros in what the view has beyond the image, up to the words that share its last quad of a row.
__device__ inline void clear_frame(const Sweep& s, const RunsPlan& q, float* view) {
  const int quads = q.pitch / 4;
  for (int e = static_cast<int>(threadIdx.x); e < s.channels * q.view_h * quads;
       e += static_cast<int>(blockDim.x)) {
    const int line = quotient(e, q.by_quads), channel = quotient(line, q.by_view_h);
    const int row = line - channel * q.view_h - q.first_row, column = (e - line * quads) * 4 - q.first_column;
    float* const to = view + channel * (q.plane - q.view_h * q.pitch) + 4 * e;
    const bool outside = static_cast<unsigned>(row) >= static_cast<unsigned>(s.in_h);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (outside || static_cast<unsigned>(column + i) >= static_cast<unsigned>(s.in_w)) to[i] = 0;
  }
}

// Starts to copy `lines` lines of `units` units of kUnit words each, to the places that at(line) tells.
template <int kUnit, class At>
__device__ inline void copy_lines(const float* from, int lines, int units, const Divide& by_units,
                                  const At& at) {
  for (int e = static_cast<int>(threadIdx.x); e < lines * units; e += static_cast<int>(blockDim.x)) {
    const int line = quotient(e, by_units);
    copy_async<4 * kUnit>(at(line) + (e - line * units) * kUnit, from + e * kUnit, 4 * kUnit);
  }
}
template <class At>
__device__ inline void copy_lines(int unit, const float* from, int lines, int units, const Divide& by_units,
                                  const At& at) {
  if (unit == 4)
    copy_lines<4>(from, lines, units, by_units, at);
  else if (unit == 2)
    copy_lines<2>(from, lines, units, by_units, at);
  else
    copy_lines<1>(from, lines, units, by_units, at);
}

// Units of the plan hold for addresses of whole quads; others are copied word by word.
inline RunsPlan for_addresses(const Sweep& s, RunsPlan q, const void* x, const void* w, const void* dy) {
  if (!aligned(x)) q.unit = 1, q.by_units = divide_by(s.in_w);
  if (!aligned(w)) q.weight_unit = 1;
  if (!aligned(dy)) q.dy_unit = 1, q.by_dy_units = divide_by(s.out_w);
  return q;
}

__device__ inline void copy_view(const Sweep& s, const RunsPlan& q, const float* image, float* view) {
  float* const first = view + q.first_row * q.pitch + q.first_column;
  copy_lines(q.unit, image, s.channels * s.in_h, s.in_w / q.unit, q.by_units, [&](int line) {
    const int channel = quotient(line, q.by_in_h);
    return first + channel * q.plane + (line - channel * s.in_h) * q.pitch;
  });
}

// `kCount` words, as many at a time as kStep allows.
template <int kCount, int kStep>
__device__ inline void read_words(const float* from, float (&to)[kCount]) {
  constexpr int kQuads = kStep == 4 ? kCount / 4 * 4 : 0, kPairs = kStep >= 2 ? kCount / 2 * 2 : 0;
#pragma unroll
  for (int i = 0; i < kQuads; i += 4) {
    const float4 x = *reinterpret_cast<const float4*>(from + i);
    to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
  }
#pragma unroll
  for (int i = kQuads; i < kPairs; i += 2) {
    const float2 x = *reinterpret_cast<const float2*>(from + i);
    to[i] = x.x, to[i + 1] = x.y;
  }
#pragma unroll
  for (int i = kPairs > kQuads ? kPairs : kQuads; i < kCount; ++i) to[i] = from[i];
}

__device__ inline void copies_have_come() {
  commit_copies();
  wait_copies<0>();
  __syncthreads();
}

}  // namespace headroom::cuda
