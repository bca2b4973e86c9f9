// Two launches. In the first, clusters of blocks walk over tiles of rows, as plan.h tells; the weights stay
// in shared memory and the sums of all gradients in registers. The second adds up what clusters and blocks
// left, and updates parameters and tally where that is asked for.
//
// Each may start before the launch before it is over. The first brings and splits its rows meanwhile, which
// no launch writes; the second takes its place on multiprocessors that the first leaves free.
#include "ops/mlp_classifier/products.cuh"
#include "ops/mlp_classifier/results.cuh"
#include "ops/mlp_classifier/rows.cuh"

namespace headroom::cuda {
namespace {

// The piece of the rows, or of the weights, that belongs to a block.
__device__ inline Piece piece_of(const float* matrix, std::int64_t row0, std::int64_t rows, int column0,
                                 std::int64_t columns, int max_rows, int max_columns) {
  const int there = static_cast<int>(min(rows - row0, std::int64_t{max_rows}));
  return {matrix + row0 * columns + column0, static_cast<int>(columns), there,
          min(static_cast<int>(columns) - column0, max_columns),
          columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0};
}

// Queues copies of what is small to shared memory, and clears sums.
__device__ inline void fetch_small(const MlpClassifierShape& s, const MlpPlan& p,
                                   const MlpClassifierPointers& at, const MlpTile& tile) {
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  const auto copy = [](float* to, const float* from, bool there) { copy_async<4>(to, from, there ? 4 : 0); };
#pragma unroll 1
  for (int unit = lane; unit < p.units; unit += 32) {
    tile.db1[warp * p.units + unit] = 0;
    if (warp >= s.classes) continue;
    const bool there = unit < s.hidden;
    copy(tile.w2 + warp * MlpPlan::float_line(p.units) + unit, at.w2 + (there ? warp * s.hidden + unit : 0),
         there);
    tile.dw2[warp * p.units + unit] = 0;
  }
  if (tid < p.units) copy(tile.b1 + tid, at.b1 + (tid < s.hidden ? tid : 0), tid < s.hidden);
  if (tid < MlpPlan::kMaxClasses) copy(tile.b2 + tid, at.b2 + (tid < s.classes ? tid : 0), tid < s.classes);
}

// Of the last layer's weights, once they are there.
__device__ inline void find_largest_of_last(const MlpClassifierShape& s, const MlpPlan& p,
                                            const MlpTile& tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  if (warp >= s.classes) return;
  unsigned most = 0;
#pragma unroll 1
  for (int unit = lane; unit < p.units; unit += 32)
    most = max(most, finite_size(tile.w2[warp * MlpPlan::float_line(p.units) + unit]));
  gather_largest(tile.largest + 2, most);
}

// l2 / 2 times the squares that this thread finds in the parameters of a cluster, as they were fetched.
__device__ inline double penalty_of(const MlpClassifierShape& s, const MlpPlan& p, const MlpTile& tile,
                                    int rank) {
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  double w1 = 0, b1 = 0, w2 = 0, b2 = 0;
  const auto add_square = [](double& sum, float x) { sum = fma(double{x}, double{x}, sum); };
#pragma unroll 1
  for (Walk walk(p.inputs); walk.row < p.units; walk.next()) {
    const float4 w = *reinterpret_cast<const float4*>(walk.in(tile.w) + 2 * walk.column);
    double first = 0, second = 0;  // so that sums do not wait for each other
    add_square(first, w.x), add_square(second, w.y), add_square(first, w.z), add_square(second, w.w);
    w1 += first + second;
  }
  if (rank == 0) {  // the others have the same
    if (tid < s.hidden) add_square(b1, tile.b1[tid]);
    if (tid < s.classes) add_square(b2, tile.b2[tid]);
    if (warp < s.classes)
#pragma unroll 1
      for (int unit = lane; unit < s.hidden; unit += 32)
        add_square(w2, tile.w2[warp * MlpPlan::float_line(p.units) + unit]);
  }
  return (s.l2[0] * w1 + s.l2[1] * b1 + s.l2[2] * w2 + s.l2[3] * b2) / 2;
}

// What this block leaves of the sums over rows: first its warps add theirs up.
__device__ inline void leave_row_sums(const MlpClassifierShape& s, const MlpPlan& p, const MlpTile& tile,
                                      MlpRowSums& sums, const MlpLeft& left) {
  __shared__ double losses[MlpPlan::kWarps];
  __shared__ int correct[MlpPlan::kWarps];
  __shared__ float db2[MlpPlan::kWarps][MlpPlan::kMaxClasses];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  float* const to = left.sums + blockIdx.x * ((s.classes + 1) * s.hidden + s.classes);
  if (lane < 16) db2[warp][lane] = sums.db2;
  const double penalty = warp_sum(sums.penalty);
  if (lane == 0) {
    losses[warp] = sums.loss + penalty * static_cast<double>(s.rows);
    correct[warp] = sums.correct;
  }
  if (warp < s.classes)
#pragma unroll 1
    for (int unit = lane; unit < s.hidden; unit += 32)
      to[warp * s.hidden + unit] = tile.dw2[warp * p.units + unit];
  __syncthreads();
  if (tid < s.hidden + s.classes) {
    const bool is_unit = tid < s.hidden;
    const float* const from = is_unit ? tile.db1 + tid : db2[0] + tid - s.hidden;
    const int step = is_unit ? p.units : MlpPlan::kMaxClasses;
    float sum = 0;
#pragma unroll 4
    for (int w = 0; w < MlpPlan::kWarps; ++w) sum += from[w * step];
    to[s.classes * s.hidden + tid] = sum;
  }
  if (warp != MlpPlan::kWarps - 1) return;
  const double loss = warp_sum(lane < MlpPlan::kWarps ? losses[lane] : 0);
  const int count = __reduce_add_sync(~0u, lane < MlpPlan::kWarps ? correct[lane] : 0);
  if (lane == 0) left.losses[blockIdx.x] = loss, left.correct[blockIdx.x] = count;
}

template <int kParts>
__global__ void __launch_bounds__(MlpPlan::kThreads, 1)
    one_pass(MlpClassifierShape s, MlpPlan p, MlpClassifierPointers at, MlpLeft left) {
  extern __shared__ __align__(16) unsigned char shared[];
  const auto tile = [&] { return MlpTile(shared, p, s.classes); };
  const int rank = static_cast<int>(cluster_rank()), input0 = rank * p.inputs;
  const int cluster = static_cast<int>(blockIdx.x) / p.blocks;
  const WeightGradient gradient{left.dw1 + cluster * s.hidden * s.inputs + input0, s.hidden,
                                min(static_cast<int>(s.inputs) - input0, p.inputs),
                                static_cast<int>(s.inputs)};
  if (threadIdx.x < 3) tile().largest[threadIdx.x] = 0;
  __syncthreads();
  float x_power = 0, w_power = 0, dz_power = 0;
  MlpRowSums sums;
#pragma unroll 1
  for (std::int64_t i = cluster; i < p.tiles; i += p.clusters) {
    const bool first_tile = i == cluster;
    const std::int64_t row0 = i * p.rows;
    fetch(tile().x, p.rows, p.inputs, piece_of(at.x, row0, s.rows, input0, s.inputs, p.rows, p.inputs));
    fetch_labels(s, p, at.labels, tile(), row0, rank);
    commit_copies(), wait_copies<0>();
    __syncthreads();
    x_power = split<kParts>(tile().largest, tile().x, p.rows, p.inputs);
    if (first_tile) {
      wait_for_launch_before();  // which may write the parameters
      fetch(tile().w, p.units, p.inputs, piece_of(at.w1, 0, s.hidden, input0, s.inputs, p.units, p.inputs));
      fetch_small(s, p, at, tile());
      commit_copies(), wait_copies<0>();
      __syncthreads();
      if (s.penalty && cluster == 0) sums.penalty = penalty_of(s, p, tile(), rank);
      find_largest_of_last(s, p, tile());
      w_power = split<kParts>(tile().largest + 1, tile().w, p.units, p.inputs);
    }
    __syncthreads();
    // |dz| is at most twice the largest weight over the number of rows.
    if (first_tile)
      dz_power = power_of(
          __float_as_uint(2 * __uint_as_float(tile().largest[2]) / static_cast<float>(s.rows)), kParts);
    hidden_sums<kParts>(tile(), p, unscale_of(x_power, w_power));
    sync_cluster();  // all have their sums
    if (threadIdx.x == 0) tile().largest[0] = 0;
    finish_rows<kParts>(s, p, tile(), row0, rank, factor_of(dz_power), sums);
    arrive_in_cluster();  // dz is on its way
    __syncthreads();
    last_weight_sums(p, s.classes, tile(), rank);
    wait_for_cluster();  // all have all of dz
    if (i + p.clusters >= p.tiles) let_launch_after_start();
    weight_sums<kParts>(tile(), p, unscale_of(x_power, dz_power), gradient, first_tile);
    __syncthreads();  // nobody reads x any more
  }
  leave_row_sums(s, p, tile(), sums, left);
}

template <int kAtOnce>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    add_up(MlpClassifierShape s, int clusters, int blocks, MlpLeft left, MlpClassifierPointers to) {
  let_launch_after_start();
  wait_for_launch_before();
  add_up_share<kAtOnce>(s, clusters, blocks, left, to, static_cast<int>(blockIdx.x));
}

template <int kParts>
void launch(const MlpClassifierShape& s, const MlpPlan& p, const MlpClassifierPointers& at,
            const MlpLeft& left, bool early, cudaStream_t stream) {
  const int bytes = p.shared_bytes(s.classes);
  HEADROOM_CUDA_CHECK(
      cudaFuncSetAttribute(one_pass<kParts>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  launch_in_clusters(one_pass<kParts>, {p.blocks_in_all(), MlpPlan::kThreads, bytes, p.blocks, early}, stream,
                     s, p, at, left);
}

}  // namespace

void mlp_classifier(const MlpClassifierShape& s, const MlpClassifierPlan& p, const MlpClassifierPointers& at,
                    const MlpClassifierSurroundings& around, void* workspace, cudaStream_t stream) {
  const std::int64_t blocks = p.blocks_in_all(), weights = s.hidden * s.inputs;
  auto* const numbers = static_cast<double*>(workspace);
  auto* const floats = reinterpret_cast<float*>(numbers + 2 * blocks);
  const MlpLeft left{numbers, numbers + blocks, floats, floats + p.clusters * weights};
  // Of a captured run: there the launch before is one of the plan, too.
  const bool early = around.batch_from_outside && is_captured(stream);
  p.parts == 2 ? launch<2>(s, p, at, left, early, stream) : launch<1>(s, p, at, left, early, stream);
  const bool whole = weights % 4 == 0 && aligned(at.new_w1);
  const int shares = MlpShares(s, whole ? 4 : 1).count();
  const bool fit = shares <= (around.multiprocessors - blocks) * kSumBlocks;
  launch_in_clusters(whole ? add_up<4> : add_up<1>, {shares, kSumThreads, 0, 1, fit}, stream, s,
                     static_cast<int>(p.clusters), static_cast<int>(blocks), left, at);
}

}  // namespace headroom::cuda
