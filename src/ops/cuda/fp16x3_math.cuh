#pragma once

// fp32 products by tensor cores in one pass over the factors, for tiles (gemm_tiles.cuh).

#include "ops/cuda/tile_operand.cuh"

namespace headroom::cuda {

// Each factor as the sum of two fp16, lo x lo left out: twice as fast as two parts of tf32, and as exact.
// fp16 lacks range, so each warp scales what it is about to multiply, 32 rows at 16 of k, by a power of two
// that brings its largest value to between 2^14 and 2^15. Values far below that largest keep its absolute
// accuracy, 2^-39 of it. The sums of 16 products start from 0 and are scaled back as they are added up: the
// tensor cores' own sums lose bits, see mma.cuh. An infinite factor has no second part: its products are NaN.
struct Fp16x3 : BlockMath<float, 32> {
  using Sum = float;
  static constexpr int kUnroll = 1;  // both parts of A and the sums leave no registers for more

  // The largest finite magnitude of a warp's values, as bits: those of floats without their sign are in the
  // order of their values.
  __device__ static unsigned largest_of(const float (&v)[4][4]) {
    constexpr unsigned kInfinity = 0x7F800000;
    float largest = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) largest = fmaxf(largest, fabsf(v[j][q]));  // ignores NaN
    unsigned bits = __reduce_max_sync(~0u, __float_as_uint(largest));
    if (bits < kInfinity) return bits;
    bits = 0;  // an infinity among them, which must not scale all others down to 0
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const unsigned x = __float_as_uint(fabsf(v[j][q]));
        if (x < kInfinity && x > bits) bits = x;
      }
    return __reduce_max_sync(~0u, bits);
  }
  // The exponent of the scale for a warp's values, as floats store it: 14 to 253.
  __device__ static int scale_of(const float (&v)[4][4]) {
    return 268 - max(static_cast<int>(largest_of(v) >> 23), 15);
  }
  __device__ static float power_of_two(int stored_exponent) { return __int_as_float(stored_exponent << 23); }

  // Two neighbours of k, in both parts.
  struct Parts {
    unsigned hi, lo;
  };
  __device__ static Parts split(float first, float second, float scale) {
    const float2 x = {first * scale, second * scale};
    const __half2 hi = __float22half2_rn(x);
    const float2 rounded = __half22float2(hi);
    const __half2 lo = __float22half2_rn({x.x - rounded.x, x.y - rounded.y});
    return {reinterpret_cast<const unsigned&>(hi), reinterpret_cast<const unsigned&>(lo)};
  }

  // sum += fresh 2^exponent. One factor alone could be more, or less, than a float holds.
  template <int kRows, int kColumns, int kAll>
  __device__ static void add_scaled(float (&sum)[kRows][kAll][4], int first_row, int first_column,
                                    const float (&fresh)[kRows][kColumns][4], int rows, int exponent) {
    const int half = exponent >= -126 && exponent <= 127 ? 0 : exponent / 2;
    const float rest = power_of_two(127 + exponent - half), part = power_of_two(127 + half);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (i < first_row || i >= first_row + rows) continue;
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& to = sum[i][first_column + j][e];
          to = half == 0 ? fmaf(fresh[i][j][e], rest, to) : fmaf(fresh[i][j][e] * part, rest, to);
        }
    }
  }

  template <int kA, int kB, int kRowsA, int kRowsB, bool kAlongA, bool kAlongB>
  __device__ static void multiply(float (&sum)[2 * kA][4 * kB][4], const float* a, int slab_a, const float* b,
                                  int slab_b, int step) {
    unsigned hi[2 * kA][4], lo[2 * kA][4];
    int scale_a[kA];
#pragma unroll
    for (int s = 0; s < kA; ++s) {
      float v[4][4];
      load_block<Fp16x3, kRowsA, kAlongA>(v, a, slab_a + 32 * s, step);
      scale_a[s] = scale_of(v);
      const float scale = power_of_two(scale_a[s]);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const Parts x = split(v[j][2 * h], v[j][2 * h + 1], scale);
          hi[2 * s + j / 2][j % 2 + 2 * h] = x.hi;
          lo[2 * s + j / 2][j % 2 + 2 * h] = x.lo;
        }
    }
    constexpr int kGroup = 4 / kA;  // columns at a time: 8 independent sums are enough to hide the latency
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      float v[4][4];
      load_block<Fp16x3, kRowsB, kAlongB>(v, b, slab_b + 32 * s, step);
      const int scale_b = scale_of(v);
      const float scale = power_of_two(scale_b);
#pragma unroll
      for (int j0 = 0; j0 < 4; j0 += kGroup) {
        unsigned b_hi[kGroup][2], b_lo[kGroup][2];
#pragma unroll
        for (int j = 0; j < kGroup; ++j)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const Parts x = split(v[j0 + j][2 * h], v[j0 + j][2 * h + 1], scale);
            b_hi[j][h] = x.hi, b_lo[j][h] = x.lo;
          }
        float fresh[2 * kA][kGroup][4] = {};
        multiply_all(fresh, lo, b_hi);
        multiply_all(fresh, hi, b_lo);
        multiply_all(fresh, hi, b_hi);
#pragma unroll
        for (int slab = 0; slab < kA; ++slab)
          add_scaled(sum, 2 * slab, 4 * s + j0, fresh, 2, 254 - scale_a[slab] - scale_b);
      }
    }
  }

  template <int kRows, int kColumns>
  __device__ static void multiply_all(float (&c)[kRows][kColumns][4], const unsigned (&a)[kRows][4],
                                      const unsigned (&b)[kColumns][2]) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
#pragma unroll
      for (int i = 0; i < kRows; ++i) mma_16bit<Half>(c[i][j], a[i], b[j]);
  }
};

}  // namespace headroom::cuda
