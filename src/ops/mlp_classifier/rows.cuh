#pragma once

// What a block of mlp_classifier does with its own rows of a tile: rank, rank + blocks, rank + 2 blocks, ….

#include "ops/classifier_head/rows.cuh"
#include "ops/cuda/cluster.cuh"
#include "ops/cuda/finish.cuh"
#include "ops/cuda/labels.cuh"
#include "ops/mlp_classifier/cuda.h"
#include "ops/mlp_classifier/tile.cuh"

namespace headroom::cuda {

// Sums that a thread keeps from tile to tile.
struct MlpRowSums {
  float db2 = 0;  // of class lane % 16
  double loss = 0;
  double penalty = 0;  // this thread's part of it
  int correct = 0;
};

// The slope of an activation by its result, c0 + y (c1 + c2 y), or a step.
struct MlpSlope {
  float c0, c1, c2;
  bool step;
  __device__ explicit MlpSlope(Activation f)
      : c0(f == Activation::tanh), c1(f == Activation::sigmoid), c2(-1), step(f == Activation::relu) {}
  __device__ float operator()(float y) const {
    const float smooth = fmaf(y, fmaf(c2, y, c1), c0);
    return step ? (y > 0 ? 1.0f : 0.0f) : smooth;
  }
};

// Queues copies of the labels of this block's own rows of a tile, each to a place of eight bytes.
__device__ inline void fetch_labels(const MlpClassifierShape& s, const MlpPlan& p, const void* labels,
                                    const MlpTile& tile, std::int64_t row0, int rank) {
  const std::int64_t own = rank + static_cast<std::int64_t>(threadIdx.x) * p.blocks, row = row0 + own;
  if (own >= p.rows) return;
  const bool there = row < s.rows;
  if (s.wide_labels)
    copy_async<8>(tile.labels + threadIdx.x, static_cast<const std::int64_t*>(labels) + (there ? row : 0),
                  there ? 8 : 0);
  else
    copy_async<4>(tile.labels + threadIdx.x, static_cast<const std::int32_t*>(labels) + (there ? row : 0),
                  there ? 4 : 0);
}

// Four of the hidden layer's sums of a row, over all blocks of the cluster.
__device__ inline float4 sums_of_cluster(const float* z, int blocks) {
  const unsigned at = shared_address(z);
  float4 v[MlpPlan::kMaxBlocks];
#pragma unroll
  for (int b = 0; b < MlpPlan::kMaxBlocks; ++b)
    if (b < blocks) v[b] = load_four_of_cluster(address_in_cluster(at, static_cast<unsigned>(b)));
  float4 sum = v[0];
#pragma unroll
  for (int b = 1; b < MlpPlan::kMaxBlocks; ++b)
    if (b < blocks) sum.x += v[b].x, sum.y += v[b].y, sum.z += v[b].z, sum.w += v[b].w;
  return sum;
}

// Four of dz to the same place in all blocks of the cluster.
template <int kParts>
__device__ inline void send(Half* to, int blocks, const float (&dz)[4], float factor) {
  const HalfPairs a = pairs_of(dz[0], dz[1], factor), b = pairs_of(dz[2], dz[3], factor);
  const uint2 high = bits_of(a.hi, b.hi), low = bits_of(a.lo, b.lo);
  const unsigned high_at = shared_address(to), low_at = shared_address(to + kLow);
#pragma unroll 2
  for (int block = 0; block < blocks; ++block) {
    store_two_in_cluster(address_in_cluster(high_at, static_cast<unsigned>(block)), high);
    if constexpr (kParts == 2)
      store_two_in_cluster(address_in_cluster(low_at, static_cast<unsigned>(block)), low);
  }
}

// From the hidden layer's sums to dz, which goes to all blocks; a warp takes a row. `row0`: the tile's first
// row in the batch; `factor`: 1 / power of the scale of dz.
template <int kParts>
__device__ inline void finish_rows(const MlpClassifierShape& s, const MlpPlan& p, const MlpTile& tile,
                                   std::int64_t row0, int rank, float factor, MlpRowSums& sums) {
  const int thread = thread_anew(), lane = thread % 32, warp = thread / 32, c = lane % 16;
  const int line = MlpPlan::float_line(p.units);
  const auto activation = static_cast<Activation>(s.activation);
  const MlpSlope slope_of(activation);
  const float scale = 1.0f / static_cast<float>(s.rows), bias = tile.b2[c];
#pragma unroll 1
  for (int own = warp; rank + own * p.blocks < p.rows; own += MlpPlan::kWarps) {
    const int row = rank + own * p.blocks;
    const bool there = row0 + row < s.rows;
    const std::int64_t label = Labels{tile.labels + own, s.wide_labels}[0];
    float* const h = tile.z + row * line;
#pragma unroll 1
    for (int unit = 4 * lane; unit < p.units; unit += 128) {
      const float4 sum = sums_of_cluster(h + unit, p.blocks),
                   b1 = *reinterpret_cast<const float4*>(tile.b1 + unit);
      float y[4] = {sum.x + b1.x, sum.y + b1.y, sum.z + b1.z, sum.w + b1.w};
      finish_values(activation, y);
      *reinterpret_cast<float4*>(h + unit) = make_float4(y[0], y[1], y[2], y[3]);
    }
    __syncwarp();
    // Half of the warp has half of the units.
    float score = 0;
    if (c < s.classes)
#pragma unroll 4
      for (int unit = lane / 16 * 4; unit < p.units; unit += 8)
        score = dot(score, *reinterpret_cast<const float4*>(h + unit),
                    *reinterpret_cast<const float4*>(tile.w2 + c * line + unit));
    score += __shfl_xor_sync(~0u, score, 16) + bias;
    const RowSlope result = row_slope(score, s.classes, label, scale, lane);
    const float d = there ? result.d : 0;
    if (lane < 16) tile.d[own * MlpPlan::kMaxClasses + lane] = d;
    sums.db2 += d;
    if (there) sums.loss += result.loss, sums.correct += result.correct;
    __syncwarp();
#pragma unroll 1
    for (int unit = 4 * lane; unit < p.units; unit += 128) {
      float dz[4] = {};
#pragma unroll 5
      for (int k = 0; k < s.classes; ++k) {
        const float slope = tile.d[own * MlpPlan::kMaxClasses + k];
        const float4 w = *reinterpret_cast<const float4*>(tile.w2 + k * line + unit);
        dz[0] = fmaf(slope, w.x, dz[0]), dz[1] = fmaf(slope, w.y, dz[1]);
        dz[2] = fmaf(slope, w.z, dz[2]), dz[3] = fmaf(slope, w.w, dz[3]);
      }
      auto* const db1 = reinterpret_cast<float4*>(tile.db1 + warp * p.units + unit);
      const float4 y = *reinterpret_cast<const float4*>(h + unit), before = *db1;
      dz[0] = there ? dz[0] * slope_of(y.x) : 0, dz[1] = there ? dz[1] * slope_of(y.y) : 0;
      dz[2] = there ? dz[2] * slope_of(y.z) : 0, dz[3] = there ? dz[3] * slope_of(y.w) : 0;
      *db1 = make_float4(before.x + dz[0], before.y + dz[1], before.z + dz[2], before.w + dz[3]);
      send<kParts>(tile.dz + row * MlpPlan::line(p.units) + place_of_part(unit), p.blocks, dz, factor);
    }
  }
}

// dw2 += d^T h over this block's own rows: a thread takes a unit, and some of the classes.
__device__ inline void last_weight_sums(const MlpPlan& p, int classes, const MlpTile& tile, int rank) {
  const int thread = thread_anew(), first = thread / p.columns, unit = thread - first * p.columns;
  if (unit >= p.units) return;
  const float* const h = tile.z + rank * MlpPlan::float_line(p.units) + unit;
  const int step = p.blocks * MlpPlan::float_line(p.units),
            own_rows = (p.rows - rank + p.blocks - 1) / p.blocks;
#pragma unroll 1
  for (int c = first; c < classes; c += MlpPlan::kThreads / p.columns) {
    float sum = tile.dw2[c * p.units + unit];
#pragma unroll 8
    for (int own = 0; own < own_rows; ++own)
      sum = fmaf(tile.d[own * MlpPlan::kMaxClasses + c], h[own * step], sum);
    tile.dw2[c * p.units + unit] = sum;
  }
}

}  // namespace headroom::cuda
