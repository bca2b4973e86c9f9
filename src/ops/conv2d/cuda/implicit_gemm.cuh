#pragma once

// The tile product of the implicit matrix kernels: 64 rows by 16 or 64 columns by a block of four warps, 16
// words of the sum at a time, gathered into registers while the last 16 are multiplied.

#include "ops/conv2d/cuda/device.cuh"
#include "ops/conv2d/cuda/fragments.cuh"

namespace headroom::cuda {

inline constexpr int kTileRows = 64, kTileWords = 16, kTileThreads = 128;
// A row of words in shared memory: rows 20 apart put the lanes of a fragment, and of a 16-byte store, into
// different banks.
inline constexpr int kRowPitch = 20;

enum class Arithmetic { fp64, fp32, tf32, half, brain };

template <Arithmetic>
struct Words {  // fp32 and tf32
  using Element = float;
  using Word = float;
};
template <>
struct Words<Arithmetic::fp64> {
  using Element = double;
  using Word = double;
};
template <>
struct Words<Arithmetic::half> {
  using Element = Half;
  using Word = unsigned;
};
template <>
struct Words<Arithmetic::brain> {
  using Element = Brain;
  using Word = unsigned;
};

template <Arithmetic kWay>
inline constexpr int kPerWord = sizeof(typename Words<kWay>::Word) / sizeof(typename Words<kWay>::Element);

// Four words of one row: what a thread gathers and stores at once.
template <Arithmetic kWay>
struct alignas(16) Quad {
  typename Words<kWay>::Word word[4];

  // read(i): the element i after the first.
  template <class Read>
  __device__ void gather(const Read& read) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kPerWord<kWay> == 2) {
        const auto low = read(2 * i), high = read(2 * i + 1);
        word[i] = bits(low) | bits(high) << 16;
      } else if constexpr (kWay == Arithmetic::tf32) {
        word[i] = __uint_as_float(to_tf32(read(i)));
      } else {
        word[i] = read(i);
      }
    }
  }
  __device__ static unsigned bits(Half x) { return __half_as_ushort(x); }
  __device__ static unsigned bits(Brain x) { return __bfloat16_as_ushort(x); }
};

// Which rows and quads a thread gathers. Along rows: neighbours in a warp take neighbouring rows, as pixels
// are read. Along the sum: four threads share a row.
struct Share {
  int row, quad;
};
__device__ inline Share share_along_rows(int i) {
  const int thread = static_cast<int>(threadIdx.x);
  return {thread % kTileRows, thread / kTileRows + 2 * i};
}
__device__ inline Share share_along_sum(int i) {
  const int thread = static_cast<int>(threadIdx.x);
  return {thread / 4 + 32 * i, thread % 4};
}

template <Arithmetic kWay, int kColumns8>
struct TileProduct {
  using Word = typename Words<kWay>::Word;
  using Sum = Compute<typename Words<kWay>::Element>;
  static constexpr int kColumns = 16 * kColumns8;  // of the block: two warps side by side

  Sum sum[2][kColumns8][4] = {}, acc[2][kColumns8][4] = {};

  __device__ void multiply_tile(const Word* a, const Word* b) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    a += (warp / 2 * 32 + lane / 4) * kRowPitch + lane % 4;
    b += (warp % 2 * 8 * kColumns8 + lane / 4) * kRowPitch + lane % 4;
#pragma unroll
    for (int step = 0; step < kTileWords; step += 8) {
      Word x[2][4], y[kColumns8][2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) x[i][e] = a[(16 * i + e % 2 * 8) * kRowPitch + step + e / 2 * 4];
#pragma unroll
      for (int j = 0; j < kColumns8; ++j)
        y[j][0] = b[8 * j * kRowPitch + step], y[j][1] = b[8 * j * kRowPitch + step + 4];
      if constexpr (kWay == Arithmetic::fp32 || kWay == Arithmetic::tf32) {
        multiply<kWay == Arithmetic::fp32>(x, y, acc);
      } else {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int j = 0; j < kColumns8; ++j)
            if constexpr (kWay == Arithmetic::fp64)
              mma_fp64_16x8(acc[i][j], x[i], y[j]);
            else
              mma_16bit<typename Words<kWay>::Element>(acc[i][j], x[i], y[j]);
      }
    }
  }

  // All tiles from first to last. load_a(tile, i, quad) and load_b fill what shares i of this thread hold.
  template <class ShareA, class ShareB, class LoadA, class LoadB>
  __device__ void run(int first, int last, int promote_every, const ShareA& share_a, const ShareB& share_b,
                      const LoadA& load_a, const LoadB& load_b) {
    __shared__ __align__(16) Word a[2][kTileRows * kRowPitch];
    __shared__ __align__(16) Word b[2][kColumns * kRowPitch];
    Quad<kWay> from_a[2], from_b[2];
    const auto load = [&](int tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_a(tile, i, from_a[i]);
        if (share_b(i).row < kColumns) load_b(tile, i, from_b[i]);
      }
    };
    const auto store = [&](int half) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const Share at = share_a(i), bt = share_b(i);
        *reinterpret_cast<Quad<kWay>*>(&a[half][at.row * kRowPitch + 4 * at.quad]) = from_a[i];
        if (bt.row < kColumns)
          *reinterpret_cast<Quad<kWay>*>(&b[half][bt.row * kRowPitch + 4 * bt.quad]) = from_b[i];
      }
    };
    if (first < last) load(first), store(0);
    __syncthreads();
    for (int tile = first, half = 0; tile < last; ++tile, half ^= 1) {
      const bool more = tile + 1 < last;
      if (more) load(tile + 1);
      multiply_tile(a[half], b[half]);
      if (promote_every > 0 && (tile - first) % promote_every == promote_every - 1) promote(sum, acc);
      if (more) store(half ^ 1);  // read last before the barrier behind us
      __syncthreads();
    }
    promote(sum, acc);
  }

  // visit(row, column, value) for what this thread holds.
  template <class Visit>
  __device__ void each(const Visit& visit) const {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < kColumns8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          visit(warp / 2 * 32 + 16 * i + e / 2 * 8 + lane / 4,
                warp % 2 * 8 * kColumns8 + 8 * j + 2 * (lane % 4) + e % 2, sum[i][j][e]);
  }
};

// Term k of a sum over channels and taps, stepped through one by one.
struct Term {
  int k, channel, row, column;
  __device__ Term(const Sweep& s, int first) : k(first) {
    channel = k / s.taps();
    const int tap = k - channel * s.taps();
    row = tap / s.kernel_w, column = tap - row * s.kernel_w;
  }
  __device__ void next(const Sweep& s) {
    ++k;
    if (++column < s.kernel_w) return;
    column = 0;
    if (++row < s.kernel_h) return;
    row = 0, ++channel;
  }
};

// Calls f.operator()<way, columns8>() for what a problem needs.
template <class F>
void dispatch_ways(DType dtype, bool tf32, int maps, F&& f) {
  const auto columns = [&]<Arithmetic kWay>() {
    if (maps <= 16)
      f.template operator()<kWay, 1>();
    else
      f.template operator()<kWay, 4>();
  };
  if (dtype == DType::f64)
    columns.template operator()<Arithmetic::fp64>();
  else if (dtype == DType::f16)
    columns.template operator()<Arithmetic::half>();
  else if (dtype == DType::bf16)
    columns.template operator()<Arithmetic::brain>();
  else if (tf32)
    columns.template operator()<Arithmetic::tf32>();
  else
    columns.template operator()<Arithmetic::fp32>();
}

}  // namespace headroom::cuda
