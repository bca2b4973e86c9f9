// "cuda:fp16x3_wgmma": see gemm_wgmma.h. A stage holds hi and lo of both operands at 64 of k.

#include "ops/cuda/cluster.cuh"
#include "ops/cuda/fp16_parts.cuh"
#include "ops/cuda/wgmma_pipe.cuh"

namespace headroom::cuda {
namespace {

constexpr int kColumns = kFp16x3WgmmaColumns;
constexpr int kPart = kWgmmaRows * static_cast<int>(kLineBytes);  // bytes of one part of one operand
static_assert(kColumns == kWgmmaRows);
// Products of hi hi that the tensor cores add up, in instructions of 16 of k. They cut their sums off, on
// all-positive data by 4.3e-9 of the result for each term (measured on an H200): with 32 terms that is less
// than a sum of fp32 errs by. The additions run while the small products of the same terms do.
constexpr unsigned kAtOnce = 2;

using TilePipe = Pipe<4 * kPart>;
using TileRing = Ring<TilePipe::kStages>;

// Steps of k that are this block's, of the blocks of its cluster.
struct Share {
  int first, end;
  __device__ explicit Share(const WgmmaArgs& args) {
    const int rank = args.splits > 1 ? static_cast<int>(cluster_rank()) : 0;
    first = args.steps * rank / args.splits, end = args.steps * (rank + 1) / args.splits;
  }
};

template <bool kAcrossA, bool kAcrossB>
__device__ void copy_parts(const TilePipe& pipe, const CUtensorMap& a, const CUtensorMap& b,
                           const WgmmaArgs& args, bool lo_a, bool lo_b) {
  const Share share(args);
  const unsigned bytes = kPart * (2u + (lo_a ? 1 : 0) + (lo_b ? 1 : 0));
  TileRing ring;
  for (unsigned i = blockIdx.x / args.splits; i < args.order.tiles(); i += gridDim.x / args.splits) {
    const TileOfBatch tile = tile_at<kColumns>(args, i);
    for (int step = share.first; step < share.end; ++step, ring.next()) {
      Barrier* const full = pipe.full + ring.stage;
      unsigned char* const stage = pipe.stage(ring.stage);
      const int k = 64 * step;
      wait_for(pipe.empty + ring.stage, ring.phase ^ 1);
      arrive_and_expect(full, bytes);
      copy_rows<kWgmmaRows, kAcrossA>(stage, a, full, tile.row, k, 0);
      copy_rows<kColumns, kAcrossB>(stage + 2 * kPart, b, full, tile.column, k, 0);
      if (lo_a) copy_rows<kWgmmaRows, kAcrossA>(stage + kPart, a, full, tile.row, k, 1);
      if (lo_b) copy_rows<kColumns, kAcrossB>(stage + 3 * kPart, b, full, tile.column, k, 1);
    }
  }
}

struct Factors {
  std::uint64_t a_hi, a_lo, b_hi, b_lo;  // descriptors
};

// Products of one tile. kLoA, kLoB: the factor has a second part.
template <bool kAcrossA, bool kAcrossB, bool kLoA, bool kLoB>
struct PartsOfTile {
  // kAtOnce instructions of hi hi from a fresh sum, then as many of each small product.
  __device__ static void multiply_big(float (&big)[64], const Factors& f, unsigned first) {
#pragma unroll
    for (unsigned k = first; k < first + kAtOnce; ++k)
      multiply<Half, kColumns, kAcrossA, kAcrossB>(big, descriptor_at(f.a_hi, kAcrossA, k),
                                                   descriptor_at(f.b_hi, kAcrossB, k), k > first);
    commit_products();
  }
  __device__ static void multiply_small(float (&small)[64], const Factors& f, unsigned first, bool add) {
#pragma unroll
    for (unsigned k = first; k < first + kAtOnce; ++k) {
      if constexpr (kLoA)
        multiply<Half, kColumns, kAcrossA, kAcrossB>(small, descriptor_at(f.a_lo, kAcrossA, k),
                                                     descriptor_at(f.b_hi, kAcrossB, k), add || k > first);
      if constexpr (kLoB)
        multiply<Half, kColumns, kAcrossA, kAcrossB>(small, descriptor_at(f.a_hi, kAcrossA, k),
                                                     descriptor_at(f.b_lo, kAcrossB, k),
                                                     kLoA || add || k > first);
    }
    commit_products();
  }
  __device__ static Factors factors_at(const TilePipe& pipe, int stage, unsigned half) {
    const unsigned a = shared_address(pipe.stage(stage)) + half * kBlockBytes,
                   b = shared_address(pipe.stage(stage)) + 2 * kPart;
    return {matrix_descriptor(a, kAcrossA), matrix_descriptor(a + kPart, kAcrossA),
            matrix_descriptor(b, kAcrossB), matrix_descriptor(b + kPart, kAcrossB)};
  }

  __device__ static void run(const TilePipe& pipe, TileRing& ring, int steps, float (&sum)[64]) {
    const unsigned half = threadIdx.x / 128 - 1;
    float big[64] = {}, small[64] = {};
    for (int step = 0; step < steps; ++step, ring.next()) {
      const Factors factors = factors_at(pipe, ring.stage, half);
      wait_for(pipe.full + ring.stage, ring.phase);
#pragma unroll
      for (unsigned k = 0; k < kStepsOfK; k += kAtOnce) {
        fence_sums();
        multiply_big(big, factors, k);
        if (k == 0 && step > 0) {
          wait_products<1>();  // the small products of the stage before
          pipe.release(ring.before());
        }
        fence_sums();
        multiply_small(small, factors, k, step > 0 || k > 0);
        wait_products<1>();
        settle(big);
#pragma unroll
        for (int e = 0; e < 64; ++e) sum[e] += big[e];
      }
    }
    wait_products<0>();
    pipe.release(ring.before());
    settle(small);
#pragma unroll
    for (int e = 0; e < 64; ++e) sum[e] += small[e];
  }
};

// hi hi alone: as exact as tf32, whose sums the tensor cores add up too.
template <bool kAcrossA, bool kAcrossB>
struct PartsOfTile<kAcrossA, kAcrossB, false, false> {
  __device__ static void run(const TilePipe& pipe, TileRing& ring, int steps, float (&sum)[64]) {
    multiply_steps<Half, kColumns, kAcrossA, kAcrossB>(pipe, ring, steps, 2 * kPart, sum);
  }
};

// Sums of a tile in the shared memory of each block of a cluster: every block adds up some rows of all.
constexpr int kSumsLd = kColumns + 8;

__device__ void leave_sums(const TilePipe& pipe, const float (&sum)[64]) {
  float* const to = reinterpret_cast<float*>(pipe.stages);
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const int row = 16 * (static_cast<int>(threadIdx.x) / 32 - 4) + g;
#pragma unroll
  for (int j = 0; j < kColumns / 8; ++j) {
    const int column = 8 * j + 2 * t;
    *reinterpret_cast<float2*>(to + row * kSumsLd + column) = make_float2(sum[4 * j], sum[4 * j + 1]);
    *reinterpret_cast<float2*>(to + (row + 8) * kSumsLd + column) =
        make_float2(sum[4 * j + 2], sum[4 * j + 3]);
  }
}

// kSplits blocks have sums of the same tile. As many loads as registers allow are under way at once: those of
// another block take hundreds of cycles.
template <int kSplits>
__device__ void add_up(const TilePipe& pipe, const WgmmaArgs& args, const TileOfBatch& tile,
                       const UnscaleParts& unscale) {
  constexpr int kPieces = kColumns / 4, kThreads = 32 * kMultiplyingWarps;
  constexpr int kRows = kWgmmaRows / kSplits, kMine = kRows * kPieces / kThreads;
  constexpr int kAtOnce = 16 / kSplits;
  static_assert(kMine % kAtOnce == 0);
  const int thread = static_cast<int>(threadIdx.x) - 128, from = thread % kPieces * 4;
  const int first = static_cast<int>(cluster_rank()) * kRows + thread / kPieces;
  const unsigned sums = shared_address(pipe.stages);
  const std::int64_t column = tile.column + from;
#pragma unroll 1
  for (int i = 0; i < kMine; i += kAtOnce) {
    float4 v[kAtOnce][kSplits];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
#pragma unroll
      for (unsigned rank = 0; rank < kSplits; ++rank) {
        const int at = first + (i + u) * (kThreads / kPieces);
        v[u][rank] = load_four_of_cluster(
            address_in_cluster(sums + 4u * static_cast<unsigned>(at * kSumsLd + from), rank));
      }
    float x[4 * kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      float4 sum = v[u][0];
#pragma unroll
      for (int rank = 1; rank < kSplits; ++rank)
        sum.x += v[u][rank].x, sum.y += v[u][rank].y, sum.z += v[u][rank].z, sum.w += v[u][rank].w;
      x[4 * u] = unscale(sum.x), x[4 * u + 1] = unscale(sum.y);
      x[4 * u + 2] = unscale(sum.z), x[4 * u + 3] = unscale(sum.w);
    }
    if (args.bias != nullptr)
#pragma unroll
      for (int e = 0; e < 4 * kAtOnce; ++e)
        if (column + e % 4 < args.n) x[e] += static_cast<const float*>(args.bias)[column + e % 4];
    finish_values(args.finish, x);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::int64_t row = tile.row + first + (i + u) * (kThreads / kPieces);
      const float y[4] = {x[4 * u], x[4 * u + 1], x[4 * u + 2], x[4 * u + 3]};
      if (row < args.m && column < args.n)
        store_values<float>(static_cast<float*>(args.c) + row * args.ldc, column, args.n, args.whole_c, y);
    }
  }
}

__device__ void add_up_cluster(const TilePipe& pipe, const WgmmaArgs& args, const UnscaleParts& unscale) {
  const TileOfBatch tile = tile_at<kColumns>(args, blockIdx.x / args.splits);
  if (args.splits == 2)
    add_up<2>(pipe, args, tile, unscale);
  else if (args.splits == 4)
    add_up<4>(pipe, args, tile, unscale);
  else
    add_up<8>(pipe, args, tile, unscale);
}

template <bool kAcrossA, bool kAcrossB, bool kLoA, bool kLoB>
__device__ void multiply_parts(const TilePipe& pipe, const WgmmaArgs& args, const UnscaleParts& unscale) {
  const Share share(args);
  TileRing ring;
  for (unsigned i = blockIdx.x / args.splits; i < args.order.tiles(); i += gridDim.x / args.splits) {
    float sum[64] = {};
    PartsOfTile<kAcrossA, kAcrossB, kLoA, kLoB>::run(pipe, ring, share.end - share.first, sum);
    if (args.splits > 1) {
      sync_multiplying();  // the sums lie where the other warpgroup's products may still read
      leave_sums(pipe, sum);
      return;
    }
#pragma unroll
    for (int e = 0; e < 64; ++e) sum[e] = unscale(sum[e]);
    store_sums<float, kColumns>(args, tile_at<kColumns>(args, i), pipe.scratch_of_warp(), sum);
  }
}

template <bool kAcrossA, bool kAcrossB>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    fp16x3_tiles(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                 const __grid_constant__ WgmmaArgs args) {
  extern __shared__ unsigned char shared[];
  if (threadIdx.x == 0) fetch_map(a), fetch_map(b);
  const PartsScale scale_a = *args.scale_a, scale_b = *args.scale_b;
  const bool lo_a = scale_a.parts == 2, lo_b = scale_b.parts == 2;
  TilePipe pipe(shared);
  pipe.start();
  if (threadIdx.x < 128) {
    give_up_registers<kCopyRegisters>();
    if (threadIdx.x == 0) copy_parts<kAcrossA, kAcrossB>(pipe, a, b, args, lo_a, lo_b);
    __syncwarp();
    if (args.splits > 1) sync_cluster(), sync_cluster();
  } else {
    take_registers<kMultiplyRegisters>();
    const UnscaleParts unscale(scale_a, scale_b);
    if (lo_a && lo_b)
      multiply_parts<kAcrossA, kAcrossB, true, true>(pipe, args, unscale);
    else if (lo_a)
      multiply_parts<kAcrossA, kAcrossB, true, false>(pipe, args, unscale);
    else if (lo_b)
      multiply_parts<kAcrossA, kAcrossB, false, true>(pipe, args, unscale);
    else
      multiply_parts<kAcrossA, kAcrossB, false, false>(pipe, args, unscale);
    if (args.splits > 1) {
      sync_cluster();
      add_up_cluster(pipe, args, unscale);
      sync_cluster();  // before any of them leaves: its memory is still read
    }
  }
}

}  // namespace

WgmmaKernel fp16x3_wgmma(bool across_a, bool across_b) {
  void (*const functions[4])(CUtensorMap, CUtensorMap, WgmmaArgs) = {
      fp16x3_tiles<false, false>, fp16x3_tiles<false, true>, fp16x3_tiles<true, false>,
      fp16x3_tiles<true, true>};
  return {functions[2 * across_a + across_b], TilePipe::kSharedBytes};
}

}  // namespace headroom::cuda
