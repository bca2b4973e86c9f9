#pragma once

// Rows of fp32 in shared memory, split into parts of fp16 in registers, for gemm_rows.h.

#include "ops/cuda/fp16x3_scale.cuh"
#include "ops/cuda/rows_layout.h"

namespace headroom::cuda {

// This lane's values of two rows, at one instruction's 16 of k: the two rows of the first pair of k, then
// those of the second.
template <bool kAlong>
__device__ inline void load_values(const unsigned char* from, int row, int k, float2 (&x)[4]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int r = row + 8 * (i % 2), first = k + 2 * t + 8 * (i / 2);
    if constexpr (kAlong)
      x[i] = *reinterpret_cast<const float2*>(from + row_value_at<true>(r, first));
    else
      x[i] = make_float2(*reinterpret_cast<const float*>(from + row_value_at<false>(r, first)),
                         *reinterpret_cast<const float*>(from + row_value_at<false>(r, first + 1)));
  }
}

__device__ inline unsigned bits_of(__half2 x) { return *reinterpret_cast<const unsigned*>(&x); }

// A step of two rows in parts of fp16, as instructions take them.
template <bool kExact>
struct PartsOfRows {
  unsigned hi[4][4], lo[kExact ? 4 : 1][4];

  // Whether some value was too large for its scale.
  template <bool kAlong>
  __device__ bool split(const unsigned char* from, int row, const float (&factor)[2]) {
    __half2 most = __floats2half2_rn(0, 0);
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      float2 x[4];
      load_values<kAlong>(from, row, 16 * s, x);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 y = make_float2(x[i].x * factor[i % 2], x[i].y * factor[i % 2]);
        const __half2 h = __floats2half2_rn(y.x, y.y);
        most = __hmax2(most, __habs2(h));
        hi[s][i] = bits_of(h);
        if constexpr (kExact) {
          const float2 back = __half22float2(h);
          lo[s][i] = bits_of(__floats2half2_rn(y.x - back.x, y.y - back.y));  // of an infinity: NaN
        }
      }
    }
    return __hisinf(__low2half(most)) != 0 || __hisinf(__high2half(most)) != 0;
  }
};

// The scales of two rows, as biased exponents of powers of two. They begin with the most that a float holds.
struct RowScales {
  int exponent[2] = {253, 253};

  __device__ void factors(float (&factor)[2]) const {
    factor[0] = power_of_two(exponent[0]), factor[1] = power_of_two(exponent[1]);
  }
  // Brings the largest finite value of the step to below 2^9, so that later ones may be 2^7 times as large.
  // Never grows: what was added up before keeps its digits. Returns what sums change by.
  template <bool kAlong>
  __device__ void shrink(const unsigned char* from, int row, float (&ratio)[2]) {
    unsigned most[2] = {0, 0};
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      float2 x[4];
      load_values<kAlong>(from, row, 16 * s, x);
#pragma unroll
      for (int i = 0; i < 4; ++i) most[i % 2] = max(most[i % 2], max(finite(x[i].x), finite(x[i].y)));
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      most[r] = max(most[r], __shfl_xor_sync(~0u, most[r], 1));
      most[r] = max(most[r], __shfl_xor_sync(~0u, most[r], 2));
      const int before = exponent[r];
      exponent[r] = min(before, 262 - static_cast<int>(most[r] >> 23));
      ratio[r] = before - exponent[r] > 126 ? 0 : power_of_two(127 + exponent[r] - before);
    }
  }

 private:
  static __device__ unsigned finite(float x) {  // the bits of its absolute value
    const unsigned bits = __float_as_uint(x) & 0x7FFFFFFF;
    return bits < 0x7F800000 ? bits : 0;
  }
};

}  // namespace headroom::cuda
