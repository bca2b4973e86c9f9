#pragma once

// A block computes one tile of C. Tiles of A and B travel to shared memory by asynchronous copies, some steps
// of k ahead; each warp multiplies slabs of 32 rows of A and 32 columns of B.
//
// Shared memory holds an operand as it lies in global memory: rows of kDepth elements where it is contiguous
// along k, else one row of the tile for each k. Pieces of 16 bytes change places within a row
// (Math::swizzle_…), so that neither the copies nor the loads of fragments meet in a bank.

#include "ops/cuda/finish.cuh"
#include "ops/cuda/gemm_tiles.h"
#include "ops/cuda/mma.cuh"

namespace headroom::cuda {

// Where element (row, k) of an operand's tile lies. kAlong: contiguous along k.
template <class Math, int kRows, bool kAlong>
struct Operand {
  using T = typename Math::T;
  static constexpr int kVec = kPack<T>, kDepth = Math::kDepth, kElements = kRows * kDepth;

  // `piece` counts 16 bytes: along k in a row, or along the rows at one k.
  __device__ static int offset(int line, int piece) {
    if constexpr (kAlong)
      return line * kDepth + (piece ^ Math::swizzle_along(line)) * kVec;
    else
      return line * kRows + (piece ^ Math::swizzle_across(line)) * kVec;
  }

  // Brings in a tile whose first element is at `from`; what lies outside of the matrix becomes 0.
  template <int kThreadsOfBlock>
  __device__ static void copy(T* tile, const T* from, std::int64_t ld, std::int64_t rows_left,
                              std::int64_t k_left, bool whole) {
    constexpr int kLines = kAlong ? kRows : kDepth, kPieces = (kAlong ? kDepth : kRows) / kVec;
    const int lines_left = static_cast<int>(min(kAlong ? rows_left : k_left, std::int64_t{kLines}));
    const int length_left = static_cast<int>(min(kAlong ? k_left : rows_left, std::int64_t{kPieces * kVec}));
    if (whole) {
      static_assert(kLines * kPieces % kThreadsOfBlock == 0);
#pragma unroll
      for (int i = 0; i < kLines * kPieces / kThreadsOfBlock; ++i) {
        const int at = i * kThreadsOfBlock + static_cast<int>(threadIdx.x);
        const int line = at / kPieces, piece = at % kPieces;
        const int valid = line < lines_left ? max(0, min(kVec, length_left - piece * kVec)) : 0;
        const T* source = valid > 0 ? from + line * ld + piece * kVec : from;
        copy_async<16>(tile + offset(line, piece), source, valid * static_cast<int>(sizeof(T)));
      }
    } else {
#pragma unroll 4
      for (int at = static_cast<int>(threadIdx.x); at < kElements; at += kThreadsOfBlock) {
        const int line = at / (kPieces * kVec), e = at % (kPieces * kVec);
        const bool inside = line < lines_left && e < length_left;
        T* to = tile + offset(line, e / kVec) + e % kVec;
        const T* source = inside ? from + line * ld + e : from;
        if constexpr (sizeof(T) >= 4)
          copy_async<sizeof(T)>(to, source, inside ? static_cast<int>(sizeof(T)) : 0);
        else
          *to = inside ? *source : T{};
      }
    }
  }
};

// fp32 and fp64 fragments by 16-byte loads. Which k stands where in a product does not matter as long as A
// and B agree: lane (g, t) holds rows 4g..4g+3 of a slab at kVec neighbouring k from kVec * t on, so that
// slot j of a slab is rows 4g+j, g = 0..7, of one m8 (or n8) half of a fragment.
template <class Math, int kRows, bool kAlong>
__device__ inline void load_block(typename Math::T (&v)[4][Math::kVec], const typename Math::T* tile,
                                  int slab, int step) {
  using T = typename Math::T;
  using Layout = Operand<Math, kRows, kAlong>;
  constexpr int kVec = Math::kVec;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  if constexpr (kAlong) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Pack<T> x =
          *reinterpret_cast<const Pack<T>*>(tile + Layout::offset(slab + 4 * g + j, 4 * step + t));
#pragma unroll
      for (int q = 0; q < kVec; ++q) v[j][q] = x.v[q];
    }
  } else {
#pragma unroll
    for (int q = 0; q < kVec; ++q)
#pragma unroll
      for (int i = 0; i < 4 / kVec; ++i) {
        const int k = (4 * step + t) * kVec + q;
        const Pack<T> x =
            *reinterpret_cast<const Pack<T>*>(tile + Layout::offset(k, (slab + 4 * g) / kVec + i));
#pragma unroll
        for (int e = 0; e < kVec; ++e) v[i * kVec + e][q] = x.v[e];
      }
  }
}

// What fp32 and fp64 have in common: the places of load_block. C: slot j of A's slab and j' of B's hold rows
// 4g+j and columns 4 (2t) + j', 4 (2t+1) + j': eight neighbouring columns in one thread.
template <class Element, int kDepthOfTile>
struct BlockMath {
  using T = Element;
  static constexpr int kVec = kPack<T>, kDepth = kDepthOfTile, kSteps = kDepth / (4 * kVec);
  static constexpr bool kNeighbours = true;  // of a thread's columns: see above
  // Two lines of 4 pieces each are read at once (8 lanes): lines 4 apart, so bit 2 of the line picks the
  // half.
  __device__ static int swizzle_along(int row) { return ((row >> 2) & 1) << 2; }
  // Four k, kVec apart, of two pieces each: next to each other in fp32, every other one in fp64.
  __device__ static int swizzle_across(int k) {
    const int t = (k / kVec) & 3;
    return kVec == 4 ? t << 1 : (t & 1) | ((t & 2) << 1);
  }
};

// Each factor as the sum of two tf32, lo x lo left out. The sums of 16 products start from 0, small terms
// first, and are added up by ordinary additions: the tensor cores' own sums lose bits, see mma.cuh.
struct Tf32x3 : BlockMath<float, 32> {
  using Sum = float;
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

struct Tf32 : BlockMath<float, 32> {
  using Sum = float;
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
  static constexpr int kVec = kPack<T>, kDepth = 64, kSteps = kDepth / 16;
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

// N neighbours of a row from `column` on.
template <class T, int N, class From>
__device__ inline void store_values(T* row, std::int64_t column, std::int64_t n, bool whole,
                                    const From (&x)[N]) {
  constexpr int kChunk = N * sizeof(T) < 16 ? N : kPack<T>;
  if (whole && column + N <= n) {
#pragma unroll
    for (int i = 0; i < N; i += kChunk) {
      Pack<T, kChunk> y;
#pragma unroll
      for (int e = 0; e < kChunk; ++e) y.v[e] = narrow<T>(x[i + e]);
      *reinterpret_cast<Pack<T, kChunk>*>(row + column + i) = y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (column + i < n) row[column + i] = narrow<T>(x[i]);
  }
}

// Bias and activation where the sum is whole, else the bare sum to its place among the partial ones.
template <class Math, int N>
__device__ inline void store_row(const TileArgs& args, int product, int split, std::int64_t row,
                                 std::int64_t column, typename Math::Sum (&x)[N]) {
  using T = typename Math::T;
  using Sum = typename Math::Sum;
  if (row >= args.m || column >= args.n) return;
  if (args.splits > 1) {
    Sum* to = static_cast<Sum*>(args.partial) +
              ((std::int64_t{split} * args.batch + product) * args.m + row) * args.n;
    store_values<Sum>(to, column, args.n, args.n % 4 == 0, x);
    return;
  }
  if (args.bias != nullptr) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (column + i < args.n) x[i] += widen(static_cast<const T*>(args.bias)[column + i]);
  }
  finish_values(args.finish, x);
  T* to = static_cast<T*>(args.c) + product * args.stride_c + row * args.ldc;
  store_values<T>(to, column, args.n, args.whole_c, x);
}

template <class Math, int kA, int kB>
__device__ inline void store_tile(const TileArgs& args, int product, int split, std::int64_t row,
                                  std::int64_t column, const typename Math::Sum (&sum)[2 * kA][4 * kB][4]) {
  using Sum = typename Math::Sum;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4 * kA; ++i) {  // slots of A
    const std::int64_t r = row + 32 * (i / 4) + (Math::kNeighbours ? 4 * g + i % 4 : 8 * (i % 4) + g);
#pragma unroll
    for (int s = 0; s < kB; ++s) {
      if constexpr (Math::kNeighbours) {
        Sum x[8];
#pragma unroll
        for (int e = 0; e < 8; ++e) x[e] = sum[i / 2][4 * s + e % 4][2 * (i % 2) + e / 4];
        store_row<Math>(args, product, split, r, column + 32 * s + 8 * t, x);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          Sum x[2] = {sum[i / 2][4 * s + j][2 * (i % 2)], sum[i / 2][4 * s + j][2 * (i % 2) + 1]};
          store_row<Math>(args, product, split, r, column + 32 * s + 8 * j + 2 * t, x);
        }
      }
    }
  }
}

// Neighbouring blocks share tiles of B in groups of 8 tiles of rows, so that both operands stay in L2.
__device__ inline void tile_of_block(std::int64_t tiles_m, std::int64_t tiles_n, std::int64_t& at_m,
                                     std::int64_t& at_n) {
  constexpr unsigned kGroup = 8;
  const unsigned per_group = kGroup * static_cast<unsigned>(tiles_n), group = blockIdx.x / per_group;
  const unsigned first = group * kGroup, within = blockIdx.x % per_group;
  const unsigned size = min(kGroup, static_cast<unsigned>(tiles_m) - first);
  at_m = first + within % size, at_n = within / size;
}

template <class Math, int kTile, int kA, int kB, int kStages, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kTile / (32 * kA) * (kTile / (32 * kB)) * 32) tiles(TileArgs args) {
  using T = typename Math::T;
  using Left = Operand<Math, kTile, kAlongA>;
  using Right = Operand<Math, kTile, kAlongB>;
  constexpr int kWarpsN = kTile / (32 * kB), kThreadsOfBlock = kTile / (32 * kA) * kWarpsN * 32;
  constexpr int kStage = Left::kElements + Right::kElements;
  extern __shared__ __align__(128) unsigned char shared[];
  T* const stages = reinterpret_cast<T*>(shared);

  const int product = static_cast<int>(blockIdx.z) % args.batch,
            split = static_cast<int>(blockIdx.z) / args.batch;
  std::int64_t row, column;
  tile_of_block((args.m + kTile - 1) / kTile, (args.n + kTile - 1) / kTile, row, column);
  row *= kTile, column *= kTile;
  const std::int64_t k0 = split * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const T* a = static_cast<const T*>(args.a) + product * args.stride_a +
               (kAlongA ? row * args.lda + k0 : k0 * args.lda + row);
  const T* b = static_cast<const T*>(args.b) + product * args.stride_b +
               (kAlongB ? column * args.ldb + k0 : k0 * args.ldb + column);
  const int steps = static_cast<int>((k1 - k0 + Math::kDepth - 1) / Math::kDepth);

  auto fetch = [&](int step) {
    if (step < steps) {
      T* const stage = stages + step % kStages * kStage;
      const std::int64_t k_left = k1 - k0 - std::int64_t{step} * Math::kDepth,
                         skip = std::int64_t{step} * Math::kDepth;
      Left::template copy<kThreadsOfBlock>(stage, a + (kAlongA ? skip : skip * args.lda), args.lda,
                                           args.m - row, k_left, args.whole_a);
      Right::template copy<kThreadsOfBlock>(stage + Left::kElements, b + (kAlongB ? skip : skip * args.ldb),
                                            args.ldb, args.n - column, k_left, args.whole_b);
    }
    commit_copies();  // also where nothing is left, so that the count below stays right
  };

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int slab_a = warp / kWarpsN * 32 * kA, slab_b = warp % kWarpsN * 32 * kB;
  typename Math::Sum sum[2 * kA][4 * kB][4] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this step has come for everyone, and everyone is done with the one fetch overwrites
    fetch(step + kStages - 1);
    const T* const stage = stages + step % kStages * kStage;
#pragma unroll(kA == 1 ? Math::kSteps : 1)  // with two slabs of A there are no registers to spare
    for (int inner = 0; inner < Math::kSteps; ++inner)
      Math::template multiply<kA, kB, kTile, kTile, kAlongA, kAlongB>(sum, stage, slab_a,
                                                                      stage + Left::kElements, slab_b, inner);
  }
  store_tile<Math, kA, kB>(args, product, split, row + slab_a, column + slab_b, sum);
}

template <class Math, int kTile, int kA, int kB, int kStages>
TileKernel tile_kernel(bool along_a, bool along_b) {
  void (*const functions[4])(TileArgs) = {
      tiles<Math, kTile, kA, kB, kStages, false, false>, tiles<Math, kTile, kA, kB, kStages, false, true>,
      tiles<Math, kTile, kA, kB, kStages, true, false>, tiles<Math, kTile, kA, kB, kStages, true, true>};
  return {.function = functions[2 * along_a + along_b],
          .tile = kTile,
          .threads = kTile / (32 * kA) * (kTile / (32 * kB)) * 32,
          .shared_bytes = kStages * 2 * kTile * Math::kDepth * static_cast<int>(sizeof(typename Math::T))};
}

}  // namespace headroom::cuda
