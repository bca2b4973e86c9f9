#pragma once

// From what clusters and blocks of mlp_classifier leave to its results.

#include "ops/classifier_head/rows.cuh"
#include "ops/mlp_classifier/cuda.h"
#include "ops/tally/add.cuh"

namespace headroom::cuda {

// What blocks leave to be added up.
struct MlpLeft {
  double *losses, *correct;
  float* dw1;   // [clusters, hidden, inputs]
  float* sums;  // [blocks, dw2 | db1 | db2]
};

// What goes to the place of a parameter: its gradient, or by a learning rate the new parameter, as by sgd.
struct MlpResult {
  bool updates;
  float rate;
  __device__ explicit MlpResult(const double* learning_rate)
      : updates(learning_rate != nullptr), rate(updates ? static_cast<float>(*learning_rate) : 0) {}
  __device__ float operator()(float gradient, float l2, float parameter) const {
    return updates ? parameter - rate * (gradient + l2 * parameter) : gradient;
  }
};

inline constexpr int kSumThreads = 256, kSumBlocks = 4;  // of a block, and blocks on a multiprocessor

// Shares of the work of adding up, a block for each: kSumThreads times `at_once` weights; then 32 of the
// other sums; one more for loss and count.
struct MlpShares {
  std::int64_t weights, sums;
  int weight_shares, sum_shares;
  __host__ __device__ MlpShares(const MlpClassifierShape& s, int at_once)
      : weights(s.hidden * s.inputs),
        sums((s.classes + 1) * std::int64_t{s.hidden} + s.classes),
        weight_shares(static_cast<int>((weights + kSumThreads * at_once - 1) / (kSumThreads * at_once))),
        sum_shares(static_cast<int>((sums + 31) / 32)) {}
  __host__ __device__ int count() const { return weight_shares + sum_shares + 1; }
};

// Of the first layer: `at_once` neighbours from `i` on.
template <int kAtOnce>
__device__ inline void add_up_weights(const MlpClassifierShape& s, int clusters, std::int64_t weights,
                                      const MlpLeft& left, const MlpClassifierPointers& to, std::int64_t i) {
  using Together = std::conditional_t<kAtOnce == 4, float4, float>;
  constexpr int kLoads = 8;  // under way at once
  const MlpResult result(to.rate);
  alignas(16) float sum[kAtOnce] = {}, before[kAtOnce] = {}, v[kLoads][kAtOnce];
  if (result.updates)
    *reinterpret_cast<Together*>(before) = *reinterpret_cast<const Together*>(to.new_w1 + i);
#pragma unroll 1
  for (int first = 0; first < clusters; first += kLoads) {
#pragma unroll
    for (int c = 0; c < kLoads; ++c)
      if (first + c < clusters)
        *reinterpret_cast<Together*>(v[c]) =
            __ldcg(reinterpret_cast<const Together*>(left.dw1 + (first + c) * weights + i));
#pragma unroll
    for (int c = 0; c < kLoads; ++c)
      if (first + c < clusters)
#pragma unroll
        for (int e = 0; e < kAtOnce; ++e) sum[e] += v[c][e];
  }
#pragma unroll
  for (int e = 0; e < kAtOnce; ++e) sum[e] = result(sum[e], s.l2[0], before[e]);
  *reinterpret_cast<Together*>(to.new_w1 + i) = *reinterpret_cast<const Together*>(sum);
}

// One of the shares, by a whole block.
template <int kAtOnce>
__device__ inline void add_up_share(const MlpClassifierShape& s, int clusters, int blocks,
                                    const MlpLeft& left, const MlpClassifierPointers& to, int share) {
  const MlpShares shares(s, kAtOnce);
  if (share < shares.weight_shares) {
    const std::int64_t i = (std::int64_t{share} * kSumThreads + threadIdx.x) * kAtOnce;
    if (i < shares.weights) add_up_weights<kAtOnce>(s, clusters, shares.weights, left, to, i);
    return;
  }
  if (share == shares.count() - 1) {
    const double loss = block_total(left.losses, blocks), correct = block_total(left.correct, blocks);
    if (threadIdx.x != 0) return;
    const auto mean = static_cast<float>(loss / static_cast<double>(s.rows));
    *to.loss = mean;
    *to.correct = static_cast<float>(correct);
    if (to.tally != nullptr) add_to_tally(mean, correct, s.count, to.tally);
    return;
  }
  const std::int64_t first = std::int64_t{share - shares.weight_shares} * 32, i = first + threadIdx.x;
  const float sum = sum_of_blocks(left.sums, blocks, shares.sums, first);
  if (threadIdx.x >= 32 || i >= shares.sums) return;
  const std::int64_t of_dw2 = std::int64_t{s.classes} * s.hidden;
  const bool is_w2 = i < of_dw2, is_b1 = !is_w2 && i < of_dw2 + s.hidden;
  float* const at = is_w2   ? to.new_w2 + i
                    : is_b1 ? to.new_b1 + (i - of_dw2)
                            : to.new_b2 + (i - of_dw2 - s.hidden);
  const float l2 = is_w2 ? s.l2[2] : is_b1 ? s.l2[1] : s.l2[3];
  const MlpResult result(to.rate);
  *at = result(sum, l2, result.updates ? *at : 0);
}

}  // namespace headroom::cuda
