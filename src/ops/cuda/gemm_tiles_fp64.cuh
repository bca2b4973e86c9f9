#pragma once

// fp64 in tiles of 128 x 128: eight warps of 64 x 32 outputs, whose sums take 128 of a thread's registers.
// Tiles travel as in gemm_tiles.cuh. What differs is what a warp does with them:
//
// - Elements of a fragment go from shared memory to the registers where the product wants them, by 8-byte
//   loads. Loads of 16 bytes bring two k of a row side by side, where a product wants two rows; the moves
//   that this took waited for products that were still reading their operands.
// - The fragments of the next kShape of k are loaded before the products of these. The first ones of a step
//   are loaded before the last products of the step before, behind its barrier: tensor cores never wait.
// - Copies and their addresses are spread over a step, between products.
//
// Of one multiprocessor, for 16 of k: 128 x 128 x 16 products at 128 a cycle are 2048 cycles of tensor cores.
// A warp loads (64 + 32) x 16 elements, 96 cycles at 128 bytes each, and eight warps 768; the copies of the
// next tile write 32 KiB, 256 cycles. Shared memory is busy half of the time. A scheduler has two warps, with
// 48 loads, 8 copies and 64, 32 or 16 products each: some 300 instructions in 2048 cycles. Warps of 32 x 32
// load 1024 cycles' worth in place of 768, and there are four of them to a scheduler.

#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

// kShape: k of one instruction, 4, 8 or 16. kBuffers 2: fragments are loaded ahead, see above. kSlabs: a warp
// has so many times 32 rows, 2 as above, or 1 with twice the warps.
template <int kShapeOfProduct, int kDepthOfTile, int kStagesOfRing, int kBuffersOfWarp, int kSlabsOfWarp = 2>
struct Fp64Config {
  static constexpr int kShape = kShapeOfProduct, kDepth = kDepthOfTile, kStages = kStagesOfRing,
                       kBuffers = kBuffersOfWarp, kSlabs = kSlabsOfWarp;
  static constexpr int kTile = 128, kThreadsOfBlock = kTile / (32 * kSlabs) * (kTile / 32) * 32;
  static constexpr int kSharedBytes = kStages * 2 * kTile * kDepth * 8;
};

// What store_tile must know.
struct Fp64Sums {
  using T = double;
  using Sum = double;
  static constexpr bool kNeighbours = false;
};

// One operand's tile in shared memory: 128 rows of kDepth elements, or kDepth rows of 128 where it is not
// contiguous along k. Of a half warp's 16 loads, 4 rows at 4 k each fall into 16 banks of 8 bytes: pairs of
// elements change places by twice the row, or k, modulo 4.
template <class Config, bool kAlong>
struct Fp64Tile {
  static constexpr int kRows = Config::kTile, kDepth = Config::kDepth, kElements = kRows * kDepth;
  static constexpr int kThreadsOfBlock = Config::kThreadsOfBlock;
  static constexpr int kPairs = (kAlong ? kDepth : kRows) / 2;       // of a line
  static constexpr int kLinesAtOnce = kThreadsOfBlock / kPairs;      // by one copy of every thread
  static constexpr int kCopies = kElements / (2 * kThreadsOfBlock);  // of a thread
  static_assert(kLinesAtOnce % 4 == 0 && kDepth % 16 == 0);

  // What a thread copies: a pair of elements every kLinesAtOnce lines.
  struct Copier {
    const double* from;
    std::int64_t ld;
    int to, line;
    int rows;   // of its lines (contiguous along k), or of its pair that lie inside of the matrix
    int place;  // of its pair along k
    bool whole;

    __device__ Copier(const double* corner, std::int64_t lead, std::int64_t rows_left, bool aligned)
        : ld(lead), whole(aligned) {
      const int me = static_cast<int>(threadIdx.x), pair = me % kPairs;
      line = me / kPairs;
      from = corner + line * ld + 2 * pair;
      to = line * 2 * kPairs + 2 * (pair ^ 2 * (line & 3));
      const int inside = static_cast<int>(min(rows_left, std::int64_t{kRows}));
      rows = kAlong ? inside : max(0, min(2, inside - 2 * pair));
      place = kAlong ? 2 * pair : 0;
    }

    // Copy `i` of this step; what lies outside of the matrix becomes 0. `k_left` from the step's first on.
    __device__ void copy(double* tile, int i, int k_left) const {
      const int at = line + i * kLinesAtOnce;
      const int valid = kAlong ? (at < rows ? max(0, min(2, k_left - place)) : 0) : at < k_left ? rows : 0;
      double* const target = tile + to + i * kLinesAtOnce * 2 * kPairs;
      const double* const source = from + i * kLinesAtOnce * ld;
      if (whole) {
        copy_async<16>(target, source, 8 * valid);
      } else {
        copy_async<8>(target, source, valid > 0 ? 8 : 0);
        copy_async<8>(target + 1, source + 1, valid > 1 ? 8 : 0);
      }
    }
    __device__ void next_step() { from += kAlong ? std::int64_t{kDepth} : kDepth * ld; }
  };

  // The place of a lane's element of slot 0 at its first k; lane (g, t) has row g of a slot of 8 rows, and
  // every fourth k from t on.
  __device__ static int lane_place(int slab) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    return kAlong ? (slab + g) * kDepth + 4 * (g & 3) + t : t * kRows + slab + (g ^ 4 * t);
  }
  // Row 8 slot + g at k = 4 quarter + t. The exchange of pairs only turns bits of the lane's place over.
  __device__ static double load(const double* tile, int place, int slot, int quarter) {
    if constexpr (kAlong)
      return tile[(place ^ 4 * (quarter & 3)) + 8 * slot * kDepth + 16 * (quarter / 4)];
    else
      return tile[(place ^ 8 * (slot & 1)) + 16 * (slot / 2) + 4 * quarter * kRows];
  }
};

template <class Config>
struct Fp64Fragments {
  static constexpr int kQuarters = Config::kShape / 4;
  double a[2 * Config::kSlabs][2 * kQuarters], b[4][kQuarters];

  // Those of group `group` of a step, kShape of k each.
  template <class Left, class Right>
  __device__ void load(const double* stage, int place_a, int place_b, int group) {
#pragma unroll
    for (int q = 0; q < kQuarters; ++q) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        b[j][q] = Right::load(stage + Left::kElements, place_b, j, group * kQuarters + q);
#pragma unroll
      for (int slot = 0; slot < 4 * Config::kSlabs; ++slot)
        a[slot / 2][2 * q + slot % 2] = Left::load(stage, place_a, slot, group * kQuarters + q);
    }
  }
  __device__ void multiply(double (&sum)[2 * Config::kSlabs][4][4]) const {
#pragma unroll
    for (int i = 0; i < 2 * Config::kSlabs; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) mma_fp64_wide<Config::kShape>(sum[i][j], a[i], b[j]);
  }
};

template <class Config, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(Config::kThreadsOfBlock, 1)
    fp64_tiles(const __grid_constant__ TileArgs args) {
  constexpr int kTile = Config::kTile, kDepth = Config::kDepth, kStages = Config::kStages;
  constexpr int kGroups = kDepth / Config::kShape, kBuffers = Config::kBuffers;
  static_assert(kGroups % kBuffers == 0);
  using Left = Fp64Tile<Config, kAlongA>;
  using Right = Fp64Tile<Config, kAlongB>;
  constexpr int kStage = Left::kElements + Right::kElements, kCopies = Left::kCopies + Right::kCopies;
  static_assert(kCopies % kGroups == 0);
  extern __shared__ __align__(128) unsigned char shared[];
  double* const stages = reinterpret_cast<double*>(shared);

  const int product = static_cast<int>(blockIdx.z) % args.batch,
            split = static_cast<int>(blockIdx.z) / args.batch;
  std::int64_t row, column;
  tile_of_block((args.m + kTile - 1) / kTile, (args.n + kTile - 1) / kTile, row, column);
  row *= kTile, column *= kTile;
  const std::int64_t k0 = split * args.k_per_split, k_all = min(args.k - k0, args.k_per_split);
  const int steps = static_cast<int>((k_all + kDepth - 1) / kDepth);
  typename Left::Copier left(static_cast<const double*>(args.a) + product * args.stride_a +
                                 (kAlongA ? row * args.lda + k0 : k0 * args.lda + row),
                             args.lda, args.m - row, args.whole_a);
  typename Right::Copier right(static_cast<const double*>(args.b) + product * args.stride_b +
                                   (kAlongB ? column * args.ldb + k0 : k0 * args.ldb + column),
                               args.ldb, args.n - column, args.whole_b);

  // Part `part` of the copies of a step, as many parts as groups; the last one ends the step's copies.
  int copied = 0, into = 0;  // steps, and the stage of the next one
  const auto fetch = [&](int part) {
    if (copied < steps) {
      double* const stage = stages + into * kStage;
      const int k_left = static_cast<int>(min(k_all - std::int64_t{copied} * kDepth, std::int64_t{kDepth}));
#pragma unroll
      for (int i = part * (kCopies / kGroups); i < (part + 1) * (kCopies / kGroups); ++i) {
        if (i < Left::kCopies)
          left.copy(stage, i, k_left);
        else
          right.copy(stage + Left::kElements, i - Left::kCopies, k_left);
      }
    }
    if (part < kGroups - 1) return;
    commit_copies();  // also where nothing is left, so that the count below stays right
    ++copied, into = into + 1 == kStages ? 0 : into + 1;
    left.next_step(), right.next_step();
  };

  const int warp = static_cast<int>(threadIdx.x) / 32, slab_a = warp / 4 * 32 * Config::kSlabs,
            slab_b = warp % 4 * 32;
  const int place_a = Left::lane_place(slab_a), place_b = Right::lane_place(slab_b);
  double sum[2 * Config::kSlabs][4][4] = {};
  for (int step = 0; step < kStages - 1; ++step)
#pragma unroll
    for (int part = 0; part < kGroups; ++part) fetch(part);
  wait_copies<kStages - 2>();
  __syncthreads();
  Fp64Fragments<Config> fragments[kBuffers];
  fragments[0].template load<Left, Right>(stages, place_a, place_b, 0);
  const double* stage = stages;
  for (int step = 0; step < steps; ++step) {
    const double* const after = step % kStages == kStages - 1 ? stages : stage + kStage;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const bool last = group == kGroups - 1;
      if constexpr (kBuffers == 1) fragments[0].multiply(sum);
      fetch(group);
      if (last) {
        wait_copies<kStages - 2>();
        __syncthreads();  // the next step has come for everyone, and everyone has loaded all of this one
      }
      fragments[(group + 1) % kBuffers].template load<Left, Right>(last ? after : stage, place_a, place_b,
                                                                   last ? 0 : group + 1);
      if constexpr (kBuffers == 2) fragments[group % kBuffers].multiply(sum);
    }
    stage = after;
  }
  wait_copies<0>();
  // The compiler copies an activation to each of the 128 places: what has none should not fetch past them.
  TileArgs plain = args;
  plain.finish = Activation::none;
  if (args.finish == Activation::none)
    store_tile<Fp64Sums, Config::kSlabs, 1>(plain, product, split, row + slab_a, column + slab_b, sum);
  else
    store_tile<Fp64Sums, Config::kSlabs, 1>(args, product, split, row + slab_a, column + slab_b, sum);
}

template <class Config>
TileKernel fp64_tile_kernel(bool along_a, bool along_b) {
  void (*const functions[4])(TileArgs) = {fp64_tiles<Config, false, false>, fp64_tiles<Config, false, true>,
                                          fp64_tiles<Config, true, false>, fp64_tiles<Config, true, true>};
  return {.function = functions[2 * along_a + along_b],
          .tile = Config::kTile,
          .threads = Config::kThreadsOfBlock,
          .shared_bytes = Config::kSharedBytes};
}

}  // namespace headroom::cuda
