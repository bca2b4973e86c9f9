#pragma once

// What a warp does with tiles in shared memory, for each type: multiply adds the product of kA slabs of 32
// rows of A and kB slabs of 32 columns of B, over one step of k, to its sums.

#include "ops/cuda/tile_operand.cuh"

namespace headroom::cuda {

// Each factor as the sum of two tf32, lo x lo left out. The sums of 16 products start from 0, small terms
// first, and are added up by ordinary additions: the tensor cores' own sums lose bits, see mma.cuh. An
// infinite factor has no second part: its products are NaN, not infinite.
struct Tf32x3 : BlockMath<float, 32> {
  using Sum = float;
  static constexpr int kUnroll = 1;  // both parts of A and the sums leave no registers for more
  template <int kA, int kB, int kRowsA, int kRowsB, bool kAlongA, bool kAlongB>
  __device__ static void multiply(float (&sum)[2 * kA][4 * kB][4], const float* a, int slab_a, const float* b,
                                  int slab_b, int step) {
    unsigned hi[2 * kA][2][4], lo[2 * kA][2][4];
#pragma unroll
    for (int s = 0; s < kA; ++s) {
      float v[4][4];
      load_block<Tf32x3, kRowsA, kAlongA>(v, a, slab_a + 32 * s, step);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const SplitTf32 x = split_tf32(v[j][q]);
          hi[2 * s + j / 2][q / 2][j % 2 + 2 * (q % 2)] = x.hi;
          lo[2 * s + j / 2][q / 2][j % 2 + 2 * (q % 2)] = x.lo;
        }
    }
    constexpr int kGroup = 4 / kA;  // columns at a time: 8 independent sums are enough to hide the latency
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      float v[4][4];
      load_block<Tf32x3, kRowsB, kAlongB>(v, b, slab_b + 32 * s, step);
#pragma unroll
      for (int j0 = 0; j0 < 4; j0 += kGroup) {
        unsigned b_hi[kGroup][2][2], b_lo[kGroup][2][2];
#pragma unroll
        for (int j = 0; j < kGroup; ++j)
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            const SplitTf32 x = split_tf32(v[j0 + j][q]);
            b_hi[j][q / 2][q % 2] = x.hi;
            b_lo[j][q / 2][q % 2] = x.lo;
          }
        float fresh[2 * kA][kGroup][4] = {};
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int j = 0; j < kGroup; ++j)
#pragma unroll
            for (int i = 0; i < 2 * kA; ++i) mma_tf32(fresh[i][j], lo[i][h], b_hi[j][h]);
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int j = 0; j < kGroup; ++j)
#pragma unroll
            for (int i = 0; i < 2 * kA; ++i) mma_tf32(fresh[i][j], hi[i][h], b_lo[j][h]);
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int j = 0; j < kGroup; ++j)
#pragma unroll
            for (int i = 0; i < 2 * kA; ++i) mma_tf32(fresh[i][j], hi[i][h], b_hi[j][h]);
#pragma unroll
        for (int i = 0; i < 2 * kA; ++i)
#pragma unroll
          for (int j = 0; j < kGroup; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[i][4 * s + j0 + j][e] += fresh[i][j][e];
      }
    }
  }
};

// Each factor as the sum of three bf16, which have the exponents of fp32: no scale is needed. Six of the nine
// products are done, the small ones first; what is left out is below 2^-23 of a product, of either sign. Sums
// of 16 terms start from 0, as above: one product of hi hi each is all that cuts its low bits off.
struct Bf16x6 : BlockMath<float, 32> {
  using Sum = float;
  static constexpr int kUnroll = 1;
  static constexpr int kParts = 3;  // hi, mid, lo

  // Of the four neighbouring k that a lane holds, half h are the fragment's elements 2t + 8h and 2t + 8h + 1.
  __device__ static void split_pair(unsigned (&parts)[kParts], const float (&v)[4], int h) {
    const SplitBf16 a = split_bf16(v[2 * h]), b = split_bf16(v[2 * h + 1]);
    parts[0] = upper_halves(a.hi, b.hi);
    parts[1] = upper_halves(a.mid, b.mid);
    parts[2] = upper_halves(a.lo, b.lo);
  }

  template <int kA, int kB, int kRowsA, int kRowsB, bool kAlongA, bool kAlongB>
  __device__ static void multiply(float (&sum)[2 * kA][4 * kB][4], const float* a, int slab_a, const float* b,
                                  int slab_b, int step) {
    unsigned left[kParts][2 * kA][4];
#pragma unroll
    for (int s = 0; s < kA; ++s) {
      float v[4][4];
      load_block<Bf16x6, kRowsA, kAlongA>(v, a, slab_a + 32 * s, step);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          unsigned parts[kParts];
          split_pair(parts, v[j], h);
#pragma unroll
          for (int p = 0; p < kParts; ++p) left[p][2 * s + j / 2][j % 2 + 2 * h] = parts[p];
        }
    }
    constexpr int kGroup = 4 / kA;  // columns at a time, as above
    constexpr int kOrder[6][2] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      float v[4][4];
      load_block<Bf16x6, kRowsB, kAlongB>(v, b, slab_b + 32 * s, step);
#pragma unroll
      for (int j0 = 0; j0 < 4; j0 += kGroup) {
        unsigned right[kParts][kGroup][2];
#pragma unroll
        for (int j = 0; j < kGroup; ++j)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            unsigned parts[kParts];
            split_pair(parts, v[j0 + j], h);
#pragma unroll
            for (int p = 0; p < kParts; ++p) right[p][j][h] = parts[p];
          }
        float fresh[2 * kA][kGroup][4] = {};
#pragma unroll
        for (int product = 0; product < 6; ++product)
#pragma unroll
          for (int j = 0; j < kGroup; ++j)
#pragma unroll
            for (int i = 0; i < 2 * kA; ++i)
              mma_16bit<Brain>(fresh[i][j], left[kOrder[product][0]][i], right[kOrder[product][1]][j]);
#pragma unroll
        for (int i = 0; i < 2 * kA; ++i)
#pragma unroll
          for (int j = 0; j < kGroup; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[i][4 * s + j0 + j][e] += fresh[i][j][e];
      }
    }
  }
};

struct Tf32 : BlockMath<float, 32> {
  using Sum = float;
  static constexpr int kUnroll = kSteps;
  template <int kA, int kB, int kRowsA, int kRowsB, bool kAlongA, bool kAlongB>
  __device__ static void multiply(float (&sum)[2 * kA][4 * kB][4], const float* a, int slab_a, const float* b,
                                  int slab_b, int step) {
    unsigned left[2 * kA][2][4];
#pragma unroll
    for (int s = 0; s < kA; ++s) {
      float v[4][4];
      load_block<Tf32, kRowsA, kAlongA>(v, a, slab_a + 32 * s, step);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) left[2 * s + j / 2][q / 2][j % 2 + 2 * (q % 2)] = to_tf32(v[j][q]);
    }
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      float v[4][4];
      load_block<Tf32, kRowsB, kAlongB>(v, b, slab_b + 32 * s, step);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const unsigned right[2] = {to_tf32(v[j][2 * h]), to_tf32(v[j][2 * h + 1])};
#pragma unroll
          for (int i = 0; i < 2 * kA; ++i) mma_tf32(sum[i][4 * s + j], left[i][h], right);
        }
    }
  }
};

struct Fp64 : BlockMath<double, 16> {
  using Sum = double;
  static constexpr int kUnroll = kSteps;
  template <int kA, int kB, int kRowsA, int kRowsB, bool kAlongA, bool kAlongB>
  __device__ static void multiply(double (&sum)[2 * kA][4 * kB][4], const double* a, int slab_a,
                                  const double* b, int slab_b, int step) {
    double left[kA][4][2];
#pragma unroll
    for (int s = 0; s < kA; ++s) load_block<Fp64, kRowsA, kAlongA>(left[s], a, slab_a + 32 * s, step);
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      double right[4][2];
      load_block<Fp64, kRowsB, kAlongB>(right, b, slab_b + 32 * s, step);
#pragma unroll
      for (int q = 0; q < 2; ++q)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int i = 0; i < 4 * kA; ++i) {
            double(&pair)[2] = *reinterpret_cast<double(*)[2]>(&sum[i / 2][4 * s + j][2 * (i % 2)]);
            mma_fp64(pair, left[i / 4][i % 4][q], right[j][q]);
          }
    }
  }
};

// Fragments by ldmatrix: slot j of a slab is its rows 8j..8j+7.
template <class Element>
struct Narrow {
  using T = Element;
  using Sum = float;
  static constexpr int kVec = kPack<T>, kDepth = 64, kSteps = kDepth / 16, kUnroll = kSteps;
  static constexpr bool kNeighbours = false;
  __device__ static int swizzle_along(int row) { return row & 7; }
  __device__ static int swizzle_across(int k) { return k & 7; }

  // Two neighbouring slots at 16 of k: r[0] r[1] the first slot's two halves of k, r[2] r[3] the second's.
  template <int kRows, bool kAlong>
  __device__ static void load_pair(unsigned (&r)[4], const T* tile, int first_row, int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32, i = lane / 8, line = lane % 8;
    const int row = first_row + 8 * (i / 2), half = i % 2;
    using Layout = Operand<Narrow, kRows, kAlong>;
    if constexpr (kAlong)
      load_matrices(r, tile + Layout::offset(row + line, 2 * step + half));
    else
      load_matrices_transposed(r, tile + Layout::offset(16 * step + 8 * half + line, row / 8));
  }

  template <int kA, int kB, int kRowsA, int kRowsB, bool kAlongA, bool kAlongB>
  __device__ static void multiply(float (&sum)[2 * kA][4 * kB][4], const T* a, int slab_a, const T* b,
                                  int slab_b, int step) {
    unsigned left[2 * kA][4];
#pragma unroll
    for (int i = 0; i < 2 * kA; ++i) {
      unsigned r[4];
      load_pair<kRowsA, kAlongA>(r, a, slab_a + 16 * i, step);
      left[i][0] = r[0], left[i][1] = r[2], left[i][2] = r[1], left[i][3] = r[3];
    }
#pragma unroll
    for (int j = 0; j < 4 * kB; j += 2) {
      unsigned r[4];
      load_pair<kRowsB, kAlongB>(r, b, slab_b + 8 * j, step);
      const unsigned first[2] = {r[0], r[1]}, second[2] = {r[2], r[3]};
#pragma unroll
      for (int i = 0; i < 2 * kA; ++i) mma_16bit<T>(sum[i][j], left[i], first);
#pragma unroll
      for (int i = 0; i < 2 * kA; ++i) mma_16bit<T>(sum[i][j + 1], left[i], second);
    }
  }
};

}  // namespace headroom::cuda
