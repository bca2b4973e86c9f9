#pragma once

// What the kernels of gemm_wgmma.h share: the ring of stages between the warp that copies and the warpgroups
// that multiply, the walk over tiles, and the way of the sums to C.

#include "ops/cuda/finish.cuh"
#include "ops/cuda/gemm_wgmma.h"
#include "ops/cuda/store_values.cuh"
#include "ops/cuda/wgmma.cuh"

namespace headroom::cuda {

inline constexpr int kWgmmaThreads = 3 * 128;  // one warpgroup copies, two multiply
inline constexpr int kMultiplyingWarps = 8;
inline constexpr int kScratchBytes = 16 * 64 * 4;  // of one of them
inline constexpr int kAllStagesBytes = 192 << 10;
// Registers of a thread that copies, and of one that multiplies: 65536 in all, in steps of 8.
inline constexpr int kCopyRegisters = 40, kMultiplyRegisters = 232;

// Shared memory: stages, scratch of the warps, barriers; 1024 bytes more, for the stages begin at multiples
// of that.
template <int kStageBytes>
struct Pipe {
  static constexpr int kStages = kAllStagesBytes / kStageBytes;
  static constexpr int kSharedBytes = 1024 + kStages * kStageBytes + kMultiplyingWarps * kScratchBytes +
                                      2 * kStages * static_cast<int>(sizeof(Barrier));
  static_assert(kStages >= 3 && kStageBytes % 1024 == 0 && kSharedBytes <= 227 << 10);

  unsigned char* stages;
  float* scratch;
  Barrier *full, *empty;  // of each stage: its tiles have come; nobody reads them any more

  __device__ explicit Pipe(unsigned char* shared) {
    stages = shared + (1024 - shared_address(shared) % 1024) % 1024;
    scratch = reinterpret_cast<float*>(stages + kStages * kStageBytes);
    full = reinterpret_cast<Barrier*>(scratch + kMultiplyingWarps * kScratchBytes / 4);
    empty = full + kStages;
  }
  // All threads, before anything else.
  __device__ void start() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) init_barrier(full + i, 1), init_barrier(empty + i, kMultiplyingWarps);
      publish_barriers();
    }
    __syncthreads();
  }
  __device__ unsigned char* stage(int i) const { return stages + i * kStageBytes; }
  __device__ float* scratch_of_warp() const { return scratch + (threadIdx.x / 32 - 4) * (kScratchBytes / 4); }
  // One lane of each multiplying warp, after its products with this stage are done.
  __device__ void release(int i) const {
    if (threadIdx.x % 32 == 0) arrive(empty + i);
  }
};

// The warpgroups that multiply wait for each other.
__device__ inline void sync_multiplying() {
  asm volatile("barrier.sync 1, %0;" ::"n"(32 * kMultiplyingWarps) : "memory");
}

// The stage that comes next, and the phase of its barriers.
template <int kStages>
struct Ring {
  int stage = 0;
  unsigned phase = 0;
  __device__ void next() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
  __device__ int before() const { return stage == 0 ? kStages - 1 : stage - 1; }
};

// One tile of one product of the batch.
struct TileOfBatch {
  int row, column;
  unsigned product;
};
template <int kTileN>
__device__ inline TileOfBatch tile_at(const WgmmaArgs& args, unsigned tile) {
  const unsigned tiles = args.order.tiles(), product = tile / tiles;
  const TilePlace place = place_of(args.order, tile - product * tiles);
  return {static_cast<int>(place.m) * kWgmmaRows, static_cast<int>(place.n) * kTileN, product};
}

// kRows rows of an operand, from `row` on, at one step of k: whole, or block by block.
template <int kRows, bool kAcross>
__device__ inline void copy_rows(unsigned char* to, const CUtensorMap& map, Barrier* barrier, int row, int k,
                                 int product) {
  if constexpr (kAcross) {
#pragma unroll
    for (int i = 0; i < kRows / static_cast<int>(kRowsOfBlock); ++i)
      copy_tensor_box(to + i * kBlockBytes, map, barrier, row + i * static_cast<int>(kRowsOfBlock), k,
                      product);
  } else {
    copy_tensor_box(to, map, barrier, k, row, product);
  }
}

// Products of one tile over `steps` of k, added up by the tensor cores alone; `at_b` is where B begins in a
// stage. Each warpgroup does half of the rows. While it waits for the products of one step, the next are
// queued.
template <class T, int kN, bool kAcrossA, bool kAcrossB, class TilePipe, class TileRing>
__device__ inline void multiply_steps(const TilePipe& pipe, TileRing& ring, int steps, unsigned at_b,
                                      float (&sum)[kN / 2]) {
  const unsigned half = threadIdx.x / 128 - 1;
  for (int step = 0; step < steps; ++step, ring.next()) {
    const unsigned stage = shared_address(pipe.stage(ring.stage));
    const std::uint64_t a = matrix_descriptor(stage + half * kBlockBytes, kAcrossA),
                        b = matrix_descriptor(stage + at_b, kAcrossB);
    wait_for(pipe.full + ring.stage, ring.phase);
    fence_sums();
#pragma unroll
    for (unsigned k = 0; k < kStepsOfK; ++k)
      multiply<T, kN, kAcrossA, kAcrossB>(sum, descriptor_at(a, kAcrossA, k), descriptor_at(b, kAcrossB, k),
                                          step > 0 || k > 0);
    commit_products();
    wait_products<1>();
    if (step > 0) pipe.release(ring.before());
  }
  wait_products<0>();
  pipe.release(ring.before());
  settle(sum);
}

// A warp's 16 rows: by way of its scratch, so that C is written in whole rows of 16-byte pieces, and the
// activation is in a loop, not once for every register.
template <class T, int kN>
__device__ inline void store_sums(const WgmmaArgs& args, const TileOfBatch& tile, float* scratch,
                                  const float (&sum)[kN / 2]) {
  constexpr int kOfPiece = kPack<T>, kPieces = 64 / kOfPiece;  // of a row of scratch
  constexpr int kRowsAtOnce = 32 / kPieces, kAtOnce = 2;       // rows that a warp reads, and times it does
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const int warp = static_cast<int>(threadIdx.x) / 32 - 4;
  const int from = lane % kPieces * kOfPiece;
  T* const c = static_cast<T*>(args.c) + tile.product * args.stride_c;
#pragma unroll
  for (int chunk = 0; chunk < kN / 64; ++chunk) {
    const std::int64_t column = tile.column + 64 * chunk + from;
    float bias[kOfPiece];
#pragma unroll
    for (int e = 0; e < kOfPiece; ++e)
      bias[e] = args.bias != nullptr && column + e < args.n
                    ? widen(static_cast<const T*>(args.bias)[column + e])
                    : 0.0f;
    __syncwarp();  // who still reads the chunk before
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = 32 * chunk + 4 * j + 2 * half;
        *reinterpret_cast<float2*>(scratch + scratch_at(g + 8 * half, 8 * j + 2 * t)) =
            make_float2(sum[i], sum[i + 1]);
      }
    __syncwarp();
#pragma unroll 1
    for (int first = lane / kPieces; first < 16; first += kAtOnce * kRowsAtOnce) {
      float x[kAtOnce * kOfPiece];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u)
#pragma unroll
        for (int e = 0; e < kOfPiece; e += 4) {
          const float4 v =
              *reinterpret_cast<const float4*>(scratch + scratch_at(first + u * kRowsAtOnce, from + e));
          float* const to = x + u * kOfPiece + e;
          to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
        }
#pragma unroll
      for (int i = 0; i < kAtOnce * kOfPiece; ++i) x[i] += bias[i % kOfPiece];
      finish_values(args.finish, x);
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const std::int64_t row = tile.row + 16 * warp + first + u * kRowsAtOnce;
        float y[kOfPiece];
#pragma unroll
        for (int e = 0; e < kOfPiece; ++e) y[e] = x[u * kOfPiece + e];
        if (row < args.m && column < args.n)
          store_values<T>(c + row * args.ldc, column, args.n, args.whole_c, y);
      }
    }
  }
}

}  // namespace headroom::cuda
