#pragma once

// Products of one warp for attention, by element type. Tiles lie in shared memory row by row, mma_pitch
// elements apart. Two ways to read one as the right operand: by rows (out[m][n] += left[m][k] tile[n][k]: the
// scores) and by columns (out[m][n] += left[m][k] tile[k][n]: what the scores weigh). The left operand comes
// from a tile, or is made of scores where they are: in the registers that hold them.

#include "ops/cuda/mma.cuh"

namespace headroom::cuda {

template <class T>
struct Fragments16 {
  using Stored = T;   // in memory
  using Element = T;  // in shared memory
  static constexpr int kStep = 16;
  struct Left {
    unsigned r[4];
  };
  struct Weights {  // of 16 x 16 scores
    unsigned r[4];
  };

  __device__ static Element prepared(Stored x) { return x; }

  // Rows row .. row + 15, columns k .. k + 15.
  __device__ static void load_left(Left& a, const Element* tile, int pitch, int row, int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    load_matrices(a.r, tile + (row + lane % 16) * pitch + k + lane / 16 * 8);
  }

  // The columns row .. row + 15 of the result: two accumulators.
  __device__ static void by_rows(float (&c)[2][4], const Left& a, const Element* tile, int pitch, int row,
                                 int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned b[4];
    load_matrices(b, tile + (row + lane / 16 * 8 + lane % 8) * pitch + k + lane / 8 % 2 * 8);
    mma_16bit<T>(c[0], a.r, {b[0], b[1]});
    mma_16bit<T>(c[1], a.r, {b[2], b[3]});
  }

  __device__ static unsigned pair(float x, float y) {
    const T both[2] = {narrow<T>(x), narrow<T>(y)};
    unsigned bits;
    memcpy(&bits, both, sizeof bits);
    return bits;
  }
  __device__ static Weights weights(const float (&c)[2][4]) {
    return {{pair(c[0][0], c[0][1]), pair(c[0][2], c[0][3]), pair(c[1][0], c[1][1]), pair(c[1][2], c[1][3])}};
  }

  // Rows k .. k + 15 of the tile, columns n .. n + 15.
  __device__ static void by_columns(float (&c)[2][4], const Weights& a, const Element* tile, int pitch, int k,
                                    int n) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned b[4];
    load_matrices_transposed(b, tile + (k + lane % 16) * pitch + n + lane / 16 * 8);
    mma_16bit<T>(c[0], a.r, {b[0], b[1]});
    mma_16bit<T>(c[1], a.r, {b[2], b[3]});
  }
};

// fp32 with factors rounded to 11 bits, which they are in shared memory already.
struct FragmentsTf32 {
  using Stored = float;
  using Element = float;
  static constexpr int kStep = 8;
  struct Left {
    unsigned r[4];
  };
  struct Weights {
    unsigned r[2][4];
  };

  __device__ static Element prepared(Stored x) { return __uint_as_float(to_tf32(x)); }

  __device__ static void load_left(Left& a, const Element* tile, int pitch, int row, int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const Element* at = tile + (row + lane / 4) * pitch + k + lane % 4;
    a.r[0] = __float_as_uint(at[0]), a.r[1] = __float_as_uint(at[8 * pitch]);
    a.r[2] = __float_as_uint(at[4]), a.r[3] = __float_as_uint(at[8 * pitch + 4]);
  }

  __device__ static void by_rows(float (&c)[2][4], const Left& a, const Element* tile, int pitch, int row,
                                 int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const Element* at = tile + (row + lane / 4) * pitch + k + lane % 4;
    mma_tf32(c[0], a.r, {__float_as_uint(at[0]), __float_as_uint(at[4])});
    mma_tf32(c[1], a.r, {__float_as_uint(at[8 * pitch]), __float_as_uint(at[8 * pitch + 4])});
  }

  // A thread has the columns 2t and 2t + 1 of a score tile and needs t and t + 4: it calls them so, and takes
  // the rows of the right operand in the same order.
  __device__ static Weights weights(const float (&c)[2][4]) {
    Weights w;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      w.r[i][0] = to_tf32(c[i][0]), w.r[i][1] = to_tf32(c[i][2]);
      w.r[i][2] = to_tf32(c[i][1]), w.r[i][3] = to_tf32(c[i][3]);
    }
    return w;
  }

  __device__ static void by_columns(float (&c)[2][4], const Weights& a, const Element* tile, int pitch, int k,
                                    int n) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const Element* at = tile + (k + 8 * i + lane % 4 * 2) * pitch + n + lane / 4;
      mma_tf32(c[0], a.r[i], {__float_as_uint(at[0]), __float_as_uint(at[pitch])});
      mma_tf32(c[1], a.r[i], {__float_as_uint(at[8]), __float_as_uint(at[pitch + 8])});
    }
  }
};

}  // namespace headroom::cuda
