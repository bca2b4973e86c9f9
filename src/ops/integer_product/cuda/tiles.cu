// Products of bytes on tensor cores. A block computes a square tile of c. Tiles of a and b travel to shared
// memory by asynchronous copies, some steps of 64 terms ahead, and lie there as in global memory: a with
// terms next to each other, b with columns next to each other. Tensor cores want the terms of a column in one
// register, so b is transposed on its way to the registers (load_columns).
#include "ops/integer_product/cuda/tiles.h"

#include "ops/cuda/block.cuh"
#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {
namespace {

// Where the pieces of 16 bytes of a tile lie (Operand in tile_operand.cuh). Loads of fragments read eight
// pieces at once: of a, those of eight neighbouring rows; of b, those of the terms 4i and 4i + 1, or 4i + 2
// and 4i + 3, with i = 0..3. The swizzles put them in different banks.
template <int kTile>
struct ByteTile {
  using T = std::uint8_t;
  static constexpr int kDepth = 64;
  __device__ static int swizzle_along(int row) { return row / 2 & 3; }
  __device__ static int swizzle_across(int k) { return (k / 4 & 3) | (kTile == 128 ? (k & 1) << 2 : 0); }
};
template <int kTile>
using Left = Operand<ByteTile<kTile>, kTile, true>;
template <int kTile>
using Right = Operand<ByteTile<kTile>, kTile, false>;

// c += a b of 16 x 8 results and 32 terms, modulo 2^32.
template <bool kSignedA, bool kSignedB>
__device__ inline void multiply_bytes(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#define HEADROOM_MMA_BYTES(types)                                                     \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types                         \
               ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (kSignedA && kSignedB)
    HEADROOM_MMA_BYTES("s8.s8");
  else if constexpr (kSignedA)
    HEADROOM_MMA_BYTES("s8.u8");
  else if constexpr (kSignedB)
    HEADROOM_MMA_BYTES("u8.s8");
  else
    HEADROOM_MMA_BYTES("u8.u8");
#undef HEADROOM_MMA_BYTES
}

// Adds up the four bytes of a word.
template <bool kSigned>
__device__ inline unsigned plus_bytes(unsigned sum, unsigned word) {
  constexpr unsigned kOnes = 0x01010101;
  if constexpr (kSigned)
    return static_cast<unsigned>(
        __dp4a(static_cast<int>(word), static_cast<int>(kOnes), static_cast<int>(sum)));
  else
    return __dp4a(word, kOnes, sum);
}

// The value of a zero point.
__device__ inline int zero_of(const Bytes& f, std::int64_t line) {
  const auto zero = static_cast<const std::uint8_t*>(f.zeros)[f.zero_each ? line : 0];
  return f.is_signed ? int{static_cast<std::int8_t>(zero)} : int{zero};
}

// The part of a tile that a warp computes: half of the rows, 16 at a time, and 32 columns in chunks of 16. Of
// the even columns of a chunk and of the odd ones it makes a fragment each: a lane then has four neighbouring
// columns. Zero points need sums of lines: the warps of a row of warps share out those of their rows of a,
// the warps of a column of warps those of their columns of b. Every warp begins with its own 16 rows and its
// own chunk, whose lines it sums.
template <int kTile, bool kSignedA, bool kSignedB>
struct WarpTile {
  static constexpr int kSlabs = kTile / 32, kChunks = 2;
  int sums[kSlabs][kChunks][2][4] = {};          // [16 rows][chunk][even or odd columns]
  unsigned of_rows[2] = {}, of_columns[2] = {};  // of the lane's terms: rows g and g + 8; even and odd column

  __device__ static int down() { return static_cast<int>(threadIdx.x) / kTile; }
  __device__ static int across() { return static_cast<int>(threadIdx.x) / 32 % kSlabs; }
  __device__ static int row_of_slab(int i) { return kTile / 2 * down() + 16 * (across() ^ i); }
  __device__ static int column_of_chunk(int j) { return 32 * across() + 16 * (down() ^ j); }

  // Both fragments of a chunk. A matrix of ldmatrix has 8 terms and 8 pairs of columns: transposed, a lane
  // gets two terms of its pair. Matrices of the terms 4i, 4i + 1 and of 4i + 2, 4i + 3 have between them the
  // four terms that belong in a register.
  __device__ static void load_columns(unsigned (&right)[2][2], const std::uint8_t* b, int step, int chunk) {
    const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8, line = lane % 8;
    const int term = 32 * step + 16 * (matrix / 2) + 4 * (line / 2) + 2 * (matrix % 2) + line % 2;
    unsigned r[4];
    load_matrices_transposed(r, b + Right<kTile>::offset(term, column_of_chunk(chunk) / 16));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      right[0][half] = __byte_perm(r[2 * half], r[2 * half + 1], 0x6420);
      right[1][half] = __byte_perm(r[2 * half], r[2 * half + 1], 0x7531);
    }
  }

  __device__ void multiply(const std::uint8_t* a, const std::uint8_t* b) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      unsigned right[kChunks][2][2];
#pragma unroll
      for (int j = 0; j < kChunks; ++j) {
        load_columns(right[j], b, step, j);
        if (j == 0) {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            of_columns[e % 2] = plus_bytes<kSignedB>(of_columns[e % 2], right[j][e % 2][e / 2]);
        }
      }
#pragma unroll
      for (int i = 0; i < kSlabs; ++i) {
        unsigned left[4];
        load_matrices(left, a + Left<kTile>::offset(row_of_slab(i) + lane % 16, 2 * step + lane / 16));
        if (i == 0) {
#pragma unroll
          for (int e = 0; e < 4; ++e) of_rows[e % 2] = plus_bytes<kSignedA>(of_rows[e % 2], left[e]);
        }
#pragma unroll
        for (int j = 0; j < kChunks; ++j)
#pragma unroll
          for (int odd = 0; odd < 2; ++odd)
            multiply_bytes<kSignedA, kSignedB>(sums[i][j][odd], left, right[j][odd]);
      }
    }
  }
};

// A row of a or a column of b within a tile, for the results: its zero point and the sum of its terms.
struct Line {
  unsigned zero, sum;
};

// Lines of rows come first, then those of columns. Every thread has the zero point of one.
template <class Warp>
__device__ inline void share_lines(const Warp& warp, int tile, int zero, Line* lines) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4;
  lines[threadIdx.x].zero = static_cast<unsigned>(zero);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned of_row = warp_sum(warp.of_rows[half], 4), of_column = warp_sum(warp.of_columns[half], 4);
    if (lane % 4 != 0) continue;
    lines[Warp::row_of_slab(0) + 8 * half + g].sum = of_row;
    lines[tile + Warp::column_of_chunk(0) + 2 * g + half].sum = of_column;
  }
}

// sum (a - za)(b - zb) = sum ab - zb sum a - za (sum b - k zb), modulo 2^32.
template <class Warp>
__device__ inline void store_results(const Warp& warp, const ByteTileArgs& args, int tile, std::int64_t row,
                                     std::int64_t column, const Line* lines) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  std::int32_t* const c = args.c + blockIdx.z * args.m * args.n;
#pragma unroll
  for (int j = 0; j < Warp::kChunks; ++j) {
    const int to = Warp::column_of_chunk(j) + 4 * t;
    Line columns[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      columns[e] = lines[tile + to + e];
      columns[e].sum -= static_cast<unsigned>(args.k) * columns[e].zero;
    }
#pragma unroll
    for (int i = 0; i < 2 * Warp::kSlabs; ++i) {
      const int at = Warp::row_of_slab(i / 2) + 8 * (i % 2) + g;
      if (row + at >= args.m) continue;
      const Line of_a = lines[at];
      Pack<std::int32_t> four;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        four.v[e] =
            static_cast<std::int32_t>(static_cast<unsigned>(warp.sums[i / 2][j][e % 2][2 * (i % 2) + e / 2]) -
                                      columns[e].zero * of_a.sum - of_a.zero * columns[e].sum);
      std::int32_t* const place = c + (row + at) * args.n + column + to;
      if (args.whole_c && column + to < args.n) {
        *reinterpret_cast<Pack<std::int32_t>*>(place) = four;
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (column + to + e < args.n) place[e] = four.v[e];
      }
    }
  }
}

template <int kTile, int kStages, bool kSignedA, bool kSignedB>
__global__ void __launch_bounds__(2 * kTile, kTile == 128 ? 2 : 4)
    byte_tiles(const __grid_constant__ ByteTileArgs args) {
  constexpr int kBlock = 2 * kTile, kDepth = ByteTile<kTile>::kDepth, kStage = 2 * kTile * kDepth;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ Line lines[2 * kTile];
  std::int64_t row, column;
  tile_of_block((args.m + kTile - 1) / kTile, (args.n + kTile - 1) / kTile, row, column);
  row *= kTile, column *= kTile;
  const auto* a = static_cast<const std::uint8_t*>(args.a.data) + blockIdx.z * args.stride_a + row * args.lda;
  const auto* b = static_cast<const std::uint8_t*>(args.b.data) + blockIdx.z * args.stride_b + column;
  const int steps = static_cast<int>((args.k + kDepth - 1) / kDepth);

  const auto fetch = [&](int step) {
    if (step < steps) {
      unsigned char* const stage = shared + step % kStages * kStage;
      const std::int64_t skip = std::int64_t{step} * kDepth, left = args.k - skip;
      Left<kTile>::template copy<kBlock>(stage, a + skip, args.lda, args.m - row, left, true);
      Right<kTile>::template copy<kBlock>(stage + kStage / 2, b + skip * args.ldb, args.ldb, args.n - column,
                                          left, true);
    }
    commit_copies();  // also where nothing is left, so that the count below stays right
  };

  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  const bool of_row = threadIdx.x < kTile;
  const std::int64_t line = (of_row ? row : column) + threadIdx.x % kTile;
  const int zero = line < (of_row ? args.m : args.n) ? zero_of(of_row ? args.a : args.b, line) : 0;
  WarpTile<kTile, kSignedA, kSignedB> warp;
  for (int step = 0; step < steps; ++step) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this step has come for everyone, and everyone is done with the one fetch overwrites
    fetch(step + kStages - 1);
    const unsigned char* const stage = shared + step % kStages * kStage;
    warp.multiply(stage, stage + kStage / 2);
  }
  share_lines(warp, kTile, zero, lines);
  __syncthreads();
  store_results(warp, args, kTile, row, column, lines);
}

// A lone block of small tiles has few warps to hide latencies: more of its copies are under way.
template <bool kSignedA, bool kSignedB>
ByteTileKernel kernel_of(int tile) {
  constexpr int kSmall = 64, kLarge = 128, kStagesOfSmall = 6, kStagesOfLarge = 4;
  const auto bytes = [](int side, int stages) { return stages * 2 * side * ByteTile<kSmall>::kDepth; };
  if (tile == kSmall)
    return {byte_tiles<kSmall, kStagesOfSmall, kSignedA, kSignedB>, kSmall, 2 * kSmall,
            bytes(kSmall, kStagesOfSmall)};
  return {byte_tiles<kLarge, kStagesOfLarge, kSignedA, kSignedB>, kLarge, 2 * kLarge,
          bytes(kLarge, kStagesOfLarge)};
}

}  // namespace

ByteTileKernel byte_tile_kernel(int tile, bool signed_a, bool signed_b) {
  if (signed_a) return signed_b ? kernel_of<true, true>(tile) : kernel_of<true, false>(tile);
  return signed_b ? kernel_of<false, true>(tile) : kernel_of<false, false>(tile);
}

void allow_shared(const ByteTileKernel& kernel) {
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel.function),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
}

void launch_byte_tiles(const ByteTileKernel& kernel, const ByteTileArgs& args, cudaStream_t stream) {
  const std::int64_t tiles_m = (args.m + kernel.tile - 1) / kernel.tile,
                     tiles_n = (args.n + kernel.tile - 1) / kernel.tile;
  const dim3 grid(static_cast<unsigned>(tiles_m * tiles_n), 1, args.count);
  kernel.function<<<grid, static_cast<unsigned>(kernel.threads),
                    static_cast<std::size_t>(kernel.shared_bytes), stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
