#include "ops/cuda/gemm_rows.h"

#include "ops/cuda/cluster.cuh"
#include "ops/cuda/finish.cuh"
#include "ops/cuda/fp16_parts.cuh"
#include "ops/cuda/row_parts.cuh"
#include "ops/cuda/store_values.cuh"
#include "ops/cuda/wgmma_rows.cuh"

namespace headroom::cuda {
namespace {

constexpr int kCopying = 128, kMultiplying = 256;  // threads
// Registers of a thread that copies, and of one that multiplies: 168 * 384 in all.
constexpr int kCopyRegisters = 40, kMultiplyRegisters = 232;
constexpr int kRowsBytes = kRowsOfTile * kRowsDepth * 4;  // of a stage

template <int kN, bool kExact>
struct RowsShared {
  static constexpr int kPart = kN * static_cast<int>(kLineBytes);  // bytes of one part of the columns
  static constexpr int kStageBytes = kRowsBytes + (kExact ? 2 : 1) * kPart;
  static constexpr int kStages = (220 << 10) / kStageBytes;
  static constexpr int kBytes =
      1024 + kStages * kStageBytes + 2 * kStages * static_cast<int>(sizeof(Barrier));
  // Sums lie where the stages were: by rows, or by columns where C is swapped.
  static constexpr int kSumsLd = kN + 8, kSwappedLd = kRowsOfTile + 4;
  static_assert(kStages >= 3 && kBytes <= 227 << 10);
  static_assert(4 * kRowsOfTile * kSumsLd <= kStages * kStageBytes &&
                4 * kN * kSwappedLd <= kStages * kStageBytes);

  unsigned char* stages;
  Barrier *full, *empty;  // of a stage: its values have come; nobody reads them any more

  __device__ explicit RowsShared(unsigned char* shared) {
    stages = shared + (1024 - shared_address(shared) % 1024) % 1024;
    full = reinterpret_cast<Barrier*>(stages + kStages * kStageBytes), empty = full + kStages;
  }
  __device__ void start() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) init_barrier(full + i, 1), init_barrier(empty + i, kMultiplying / 32);
      publish_barriers();
    }
    __syncthreads();
  }
  __device__ unsigned char* stage(int step) const { return stages + step % kStages * kStageBytes; }
  __device__ float* sums() const { return reinterpret_cast<float*>(stages); }
};

__device__ inline void sync_multiplying() {
  asm volatile("barrier.sync 1, %0;" ::"n"(kMultiplying) : "memory");
}

// The tile and the steps of k of this block. Blocks of a cluster take steps in turn, so that together they
// read long pieces of the rows.
struct RowsShare {
  int row, column, first, stride, count;
  template <int kN>
  __device__ static RowsShare of(const RowsArgs& args) {
    const int rank = args.splits > 1 ? static_cast<int>(cluster_rank()) : 0;
    const int tile = static_cast<int>(blockIdx.x) / args.splits,
              across = static_cast<int>((args.columns + kN - 1) / kN);
    return {tile / across * kRowsOfTile, tile % across * kN, rank, args.splits,
            (args.steps - rank + args.splits - 1) / args.splits};
  }
};

// One thread asks for the values of all steps, as far ahead as there are stages.
template <int kN, bool kAlongRows, bool kAlongColumns, bool kExact>
__device__ void copy_steps(const RowsShared<kN, kExact>& shared, const CUtensorMap& rows,
                           const CUtensorMap& columns, const RowsShare& share) {
  using Shared = RowsShared<kN, kExact>;
  constexpr int kBoxes = kAlongRows ? 2 : 4;
  for (int step = 0; step < share.count; ++step) {
    Barrier* const full = shared.full + step % Shared::kStages;
    unsigned char* const stage = shared.stage(step);
    const int k = kRowsDepth * (share.first + share.stride * step);
    if (step >= Shared::kStages)
      wait_for(shared.empty + step % Shared::kStages, (step / Shared::kStages - 1) & 1);
    arrive_and_expect(full, Shared::kStageBytes);
#pragma unroll
    for (int i = 0; i < kBoxes; ++i)
      copy_tensor_box(stage + i * (kRowsBytes / kBoxes), rows, full,
                      kAlongRows ? k + 32 * i : share.row + 32 * i, kAlongRows ? share.row : k, 0);
#pragma unroll
    for (int part = 0; part < (kExact ? 2 : 1); ++part) {
      unsigned char* const to = stage + kRowsBytes + part * Shared::kPart;
      if constexpr (kAlongColumns)
        copy_tensor_box(to, columns, full, k, share.column, part);
      else
#pragma unroll
        for (int i = 0; i < kN / 64; ++i)
          copy_tensor_box(to + i * kBlockBytes, columns, full, share.column + 64 * i, k, part);
    }
  }
}

// Products of one tile; `row` is the first of this lane's two.
template <int kN, bool kAlongRows, bool kAlongColumns, bool kExact>
__device__ void multiply_steps(const RowsShared<kN, kExact>& shared, int steps, int row, RowScales& scales,
                               float (&sum)[kN / 2]) {
  using Shared = RowsShared<kN, kExact>;
  float fresh[kN / 2] = {}, factor[2];
  scales.factors(factor);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int at = step % Shared::kStages;
    const unsigned char* const stage = shared.stage(step);
    const unsigned columns = shared_address(stage) + kRowsBytes;
    const std::uint64_t hi = matrix_descriptor(columns, !kAlongColumns),
                        lo = matrix_descriptor(columns + Shared::kPart, !kAlongColumns);
    PartsOfRows<kExact> parts;
    wait_for(shared.full + at, step / Shared::kStages & 1);
    if (__any_sync(~0u, parts.template split<kAlongRows>(stage, row, factor))) {
      float ratio[2];
      scales.template shrink<kAlongRows>(stage, row, ratio);
      scales.factors(factor);
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) sum[i] *= ratio[i / 2 % 2];
      parts.template split<kAlongRows>(stage, row, factor);
    }
    fence_sums();
    if constexpr (kExact) {  // the small products first
#pragma unroll
      for (unsigned s = 0; s < kStepsOfK; ++s) {
        multiply_by_rows<kN, !kAlongColumns>(fresh, parts.lo[s], descriptor_at(hi, !kAlongColumns, s), s > 0);
        multiply_by_rows<kN, !kAlongColumns>(fresh, parts.hi[s], descriptor_at(lo, !kAlongColumns, s), true);
      }
    }
#pragma unroll
    for (unsigned s = 0; s < kStepsOfK; ++s)
      multiply_by_rows<kN, !kAlongColumns>(fresh, parts.hi[s], descriptor_at(hi, !kAlongColumns, s),
                                           kExact || s > 0);
    commit_products();
    wait_products<0>();
    settle(fresh);
    if (threadIdx.x % 32 == 0) arrive(shared.empty + at);
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] += fresh[i];
  }
}

// The sums to shared memory, scales taken back.
template <int kN, bool kExact>
__device__ void leave_sums(const RowsShared<kN, kExact>& shared, const RowsArgs& args, int row,
                           const RowScales& scales, const float (&sum)[kN / 2]) {
  using Shared = RowsShared<kN, kExact>;
  const PartsScale of_columns = *args.scale;
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const UnscaleParts unscale({power_of_two(254 - scales.exponent[half]), 1, 2, 0}, of_columns);
    const int r = row + 8 * half;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const int column = 8 * j + 2 * t;
      const float2 x = make_float2(unscale(sum[4 * j + 2 * half]), unscale(sum[4 * j + 2 * half + 1]));
      if (args.swapped) {
        shared.sums()[column * Shared::kSwappedLd + r] = x.x;
        shared.sums()[(column + 1) * Shared::kSwappedLd + r] = x.y;
      } else {
        *reinterpret_cast<float2*>(shared.sums() + r * Shared::kSumsLd + column) = x;
      }
    }
  }
}

// Lines of C in this tile: the block finishes `count` of them from `first` on, the sums of all blocks of its
// cluster in the order of k.
struct Lines {
  int first, count, length, ld;
  std::int64_t line0, along0, lines, along;  // of the tile, and of C
};

__device__ inline void finish_lines(const float* sums, const RowsArgs& args, const Lines& lines) {
  constexpr int kMaxSplits = 8;
  const int pieces = lines.length / 4;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x) - kCopying; i < lines.count * pieces; i += kMultiplying) {
    const int line = lines.first + i / pieces, from = i % pieces * 4;
    const std::int64_t y = lines.line0 + line, x0 = lines.along0 + from;
    if (y >= lines.lines || x0 >= lines.along) continue;
    const float* const at = sums + line * lines.ld + from;
    float4 v[kMaxSplits];
#pragma unroll
    for (int r = 0; r < kMaxSplits; ++r)
      if (r < args.splits)
        v[r] = args.splits > 1
                   ? load_four_of_cluster(address_in_cluster(shared_address(at), static_cast<unsigned>(r)))
                   : *reinterpret_cast<const float4*>(at);
    float x[4] = {v[0].x, v[0].y, v[0].z, v[0].w};
#pragma unroll
    for (int r = 1; r < kMaxSplits; ++r)
      if (r < args.splits) x[0] += v[r].x, x[1] += v[r].y, x[2] += v[r].z, x[3] += v[r].w;
    if (args.bias != nullptr)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (x0 + e < lines.along) x[e] += args.bias[x0 + e];
    finish_values(args.finish, x);
    store_values<float>(args.c + y * args.ldc, x0, lines.along, args.whole_c, x);
  }
}

template <int kN, bool kExact>
__device__ void finish_tile(const RowsShared<kN, kExact>& shared, const RowsArgs& args,
                            const RowsShare& share) {
  using Shared = RowsShared<kN, kExact>;
  const int rank = args.splits > 1 ? static_cast<int>(cluster_rank()) : 0;
  if (args.swapped)
    finish_lines(shared.sums(), args,
                 {rank * (kN / args.splits), kN / args.splits, kRowsOfTile, Shared::kSwappedLd, share.column,
                  share.row, args.columns, args.rows});
  else
    finish_lines(shared.sums(), args,
                 {rank * (kRowsOfTile / args.splits), kRowsOfTile / args.splits, kN, Shared::kSumsLd,
                  share.row, share.column, args.rows, args.columns});
}

template <int kN, bool kAlongRows, bool kAlongColumns, bool kExact>
__global__ void __launch_bounds__(kCopying + kMultiplying, 1)
    rows_in_parts(const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap columns,
                  const __grid_constant__ RowsArgs args) {
  extern __shared__ unsigned char memory[];
  if (threadIdx.x == 0) fetch_map(rows), fetch_map(columns);
  const RowsShared<kN, kExact> shared(memory);
  shared.start();
  const RowsShare share = RowsShare::of<kN>(args);
  if (threadIdx.x < kCopying) {
    give_up_registers<kCopyRegisters>();
    if (threadIdx.x == 0) copy_steps<kN, kAlongRows, kAlongColumns>(shared, rows, columns, share);
    __syncwarp();
    if (args.splits > 1) sync_cluster(), sync_cluster();
  } else {
    take_registers<kMultiplyRegisters>();
    const int row = 64 * (static_cast<int>(threadIdx.x) / 128 - 1) +
                    16 * (static_cast<int>(threadIdx.x) / 32 % 4) +
                    row_of_group<kAlongRows>(static_cast<int>(threadIdx.x) % 32 / 4);
    {
      float sum[kN / 2] = {};
      RowScales scales;
      multiply_steps<kN, kAlongRows, kAlongColumns>(shared, share.count, row, scales, sum);
      sync_multiplying();  // the sums lie where the other warpgroup may still read
      leave_sums(shared, args, row, scales, sum);
    }
    if (args.splits > 1)
      sync_cluster();
    else
      sync_multiplying();
    finish_tile(shared, args, share);
    if (args.splits > 1) sync_cluster();  // before any of them leaves: its memory is still read
  }
}

using RowsKernel = void (*)(CUtensorMap, CUtensorMap, RowsArgs);

template <int kN, bool kExact>
RowsKernel kernel_of(const RowsForm& form) {
  if (form.along_columns)
    return form.along_rows ? rows_in_parts<kN, true, true, kExact> : rows_in_parts<kN, false, true, kExact>;
  if constexpr (kN % 64 == 0)
    return form.along_rows ? rows_in_parts<kN, true, false, kExact> : rows_in_parts<kN, false, false, kExact>;
  return nullptr;  // no plan asks for it
}

template <int kN, bool kExact>
void launch(const RowsForm& form, const CUtensorMap& rows, const CUtensorMap& columns, const RowsArgs& args,
            cudaStream_t stream) {
  const RowsKernel kernel = kernel_of<kN, kExact>(form);
  constexpr int kBytes = RowsShared<kN, kExact>::kBytes;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const std::int64_t tiles = (args.rows + kRowsOfTile - 1) / kRowsOfTile * ((args.columns + kN - 1) / kN);
  launch_in_clusters(kernel, {tiles * args.splits, kCopying + kMultiplying, kBytes, args.splits}, stream,
                     rows, columns, args);
}

template <bool kExact>
void launch(const RowsForm& form, const CUtensorMap& rows, const CUtensorMap& columns, const RowsArgs& args,
            cudaStream_t stream) {
  if (form.tile_n == 64)
    launch<64, kExact>(form, rows, columns, args, stream);
  else if (form.tile_n == 128)
    launch<128, kExact>(form, rows, columns, args, stream);
  else
    launch<160, kExact>(form, rows, columns, args, stream);
}

}  // namespace

void multiply_rows(const RowsForm& form, const CUtensorMap& rows, const CUtensorMap& columns,
                   const RowsArgs& args, cudaStream_t stream) {
  if (form.exact)
    launch<true>(form, rows, columns, args, stream);
  else
    launch<false>(form, rows, columns, args, stream);
}

}  // namespace headroom::cuda
