#pragma once

// The two products of mlp_classifier, by parts of fp16 in shared memory: the hidden layer's sums, and the
// gradient of its weights.

#include "ops/cuda/mma.cuh"
#include "ops/mlp_classifier/tile.cuh"

namespace headroom::cuda {

// c += a b in parts: the small products first, those of one sum as far apart as possible. b has the fragments
// of the high parts, then those of the low parts.
template <int kTiles, int kParts>
__device__ inline void multiply_parts(float (&c)[kTiles][4], const unsigned (&a)[kParts][4],
                                      const unsigned (&b)[kTiles][4]) {
  if constexpr (kParts == 2) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) mma_16bit<Half>(c[i], a[1], {b[i][0], b[i][1]});
#pragma unroll
    for (int i = 0; i < kTiles; ++i) mma_16bit<Half>(c[i], a[0], {b[i][2], b[i][3]});
  }
#pragma unroll
  for (int i = 0; i < kTiles; ++i) mma_16bit<Half>(c[i], a[0], {b[i][0], b[i][1]});
}

// What one step multiplies.
template <int kTiles, int kParts>
struct Fragments {
  unsigned a[kParts][4], b[kTiles][4];
};

template <int kTiles>
__device__ inline void add_and_clear(float (&sum)[kTiles][4], float (&recent)[kTiles][4]) {
#pragma unroll
  for (int i = 0; i < kTiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) sum[i][e] += recent[i][e], recent[i][e] = 0;
}

// z = x w^T for this block's inputs. Warps share rows, 16 each, then units. Tiles beyond the last one are
// computed as that, for a branch would keep loads and products from overlapping, and not stored.
template <int kParts>
__device__ inline void hidden_sums(const MlpTile& tile, const MlpPlan& p, const UnscaleParts& unscale) {
  constexpr int kTiles = MlpPlan::kUnitTiles;
  const int thread = thread_anew(), lane = thread % 32, warp = thread / 32;
  const int row_warps = p.rows / 16, unit_warps = MlpPlan::kWarps / row_warps;
  const int line = MlpPlan::line(p.inputs), unit_tiles = p.units / 8, row = warp % row_warps * 16;
  if (warp >= row_warps * unit_warps) return;
  const Half* const a_at = tile.x + (row + lane % 16) * line + lane / 16 * 16;
  const Half* const b_at =
      tile.w + (kParts == 2 ? lane / 16 * kLow : 0) + lane % 8 * line + lane / 8 % 2 * 16;
#pragma unroll 1
  for (int first = warp / row_warps; first < unit_tiles; first += kTiles * unit_warps) {
    const Half* b_of[kTiles];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) b_of[i] = b_at + min(first + unit_warps * i, unit_tiles - 1) * 8 * line;
    float sum[kTiles][4] = {}, recent[kTiles][4] = {};
    Fragments<kTiles, kParts> now, next;
    const auto load = [&](Fragments<kTiles, kParts>& to, int k) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) load_matrices(to.a[part], a_at + part * kLow + 2 * k);
#pragma unroll
      for (int i = 0; i < kTiles; ++i) load_matrices(to.b[i], b_of[i] + 2 * k);
    };
    load(now, 0);
#pragma unroll 1
    for (int k = MlpPlan::kStep; k <= p.inputs; k += MlpPlan::kStep) {
      load(next, min(k, p.inputs - MlpPlan::kStep));  // a step ahead; past the last one: anything
      multiply_parts(recent, now.a, now.b);
      now = next;
      if (k % MlpPlan::kPromote == 0 || k == p.inputs) add_and_clear(sum, recent);
    }
    float* const to = tile.z + (row + lane / 4) * MlpPlan::float_line(p.units) + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const int unit_tile = first + unit_warps * i;
      if (unit_tile >= unit_tiles) break;
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(to + 8 * half * MlpPlan::float_line(p.units) + 8 * unit_tile) =
            make_float2(unscale(sum[i][2 * half]), unscale(sum[i][2 * half + 1]));
    }
  }
}

// Where a block adds up its inputs of the gradient of the first layer's weights: [hidden, inputs].
struct WeightGradient {
  float* to;
  int hidden, inputs, ld;  // units, this block's inputs, all inputs
};

__device__ inline void add_pair(float* at, float first, float second) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(at), "f"(first), "f"(second) : "memory");
#else
  atomicAdd(at, first), atomicAdd(at + 1, second);
#endif
}

// A warp's sums, 16 units by kTiles times 8 inputs that lie `apart`, in place of what is there or on top.
// Nobody else writes there, so additions come in the order of the tiles, and nobody waits for them.
template <bool kFresh, int kTiles>
__device__ inline void leave_sums(const WeightGradient& gradient, int unit, int input, int apart,
                                  const UnscaleParts& unscale, const float (&sum)[kTiles][4]) {
  const int lane = thread_anew() % 32, own_unit = unit + lane / 4, own_input = input + lane % 4 * 2;
  float* const to = gradient.to + (own_unit * gradient.ld + own_input);
  const bool pairs = gradient.ld % 2 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (own_unit + 8 * half >= gradient.hidden) break;
    float* at = to + 8 * half * gradient.ld;
    int left = gradient.inputs - own_input;
#pragma unroll
    for (int i = 0; i < kTiles; ++i, at += apart, left -= apart) {
      if (left <= 0) break;
      const float x = unscale(sum[i][2 * half]), y = unscale(sum[i][2 * half + 1]);
      if (pairs) {
        if constexpr (kFresh)
          *reinterpret_cast<float2*>(at) = make_float2(x, y);
        else
          add_pair(at, x, y);
      } else {
        if constexpr (kFresh) {
          at[0] = x;
          if (left > 1) at[1] = y;
        } else {
          atomicAdd(at, x);
          if (left > 1) atomicAdd(at + 1, y);
        }
      }
    }
  }
}

// dw = dz^T x for this block's inputs, on top of what is there unless this is the cluster's first tile. Warps
// share units, 16 each, then inputs, kTiles times 8 of them at once.
template <int kParts, int kTiles>
__device__ inline void weight_sums(const MlpTile& tile, const MlpPlan& p, const UnscaleParts& unscale,
                                   const WeightGradient& gradient, bool first_tile) {
  const int thread = thread_anew(), lane = thread % 32, warp = thread / 32;
  const int unit_warps = p.units / 16, apart = MlpPlan::kWarps / unit_warps, unit = warp % unit_warps * 16;
  if (warp >= unit_warps * apart) return;
  const int line_a = MlpPlan::line(p.units), line_b = MlpPlan::line(p.inputs), input_tiles = p.inputs / 8;
  const Half* const a_at = tile.dz + (lane / 16 * 8 + lane % 8) * line_a + 2 * unit + lane / 8 % 2 * 16;
  const Half* const b_at =
      tile.x + (kParts == 2 ? lane / 16 * kLow : 0) + (lane / 8 % 2 * 8 + lane % 8) * line_b;
#pragma unroll 1
  for (int first = warp / unit_warps; first < input_tiles; first += apart * kTiles) {
    int b_of[kTiles];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) b_of[i] = min(first + apart * i, input_tiles - 1) * 16;
    float sum[kTiles][4] = {};
    Fragments<kTiles, kParts> now, next;
    const auto load = [&](Fragments<kTiles, kParts>& to, int k) {
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        load_matrices_transposed(to.a[part], a_at + part * kLow + k * line_a);
#pragma unroll
      for (int i = 0; i < kTiles; ++i) load_matrices_transposed(to.b[i], b_at + k * line_b + b_of[i]);
    };
    load(now, 0);
#pragma unroll 1
    for (int k = MlpPlan::kStep; k <= p.rows; k += MlpPlan::kStep) {
      load(next, min(k, p.rows - MlpPlan::kStep));
      multiply_parts(sum, now.a, now.b);
      now = next;
    }
    if (first_tile)
      leave_sums<true>(gradient, unit, 8 * first, 8 * apart, unscale, sum);
    else
      leave_sums<false>(gradient, unit, 8 * first, 8 * apart, unscale, sum);
  }
}

// As many tiles at once as a warp has.
template <int kParts>
__device__ inline void weight_sums(const MlpTile& tile, const MlpPlan& p, const UnscaleParts& unscale,
                                   const WeightGradient& gradient, bool first_tile) {
  switch (p.input_tiles_at_once()) {
    case 2:
      return weight_sums<kParts, 2>(tile, p, unscale, gradient, first_tile);
    default:
      return weight_sums<kParts, 4>(tile, p, unscale, gradient, first_tile);
  }
}

}  // namespace headroom::cuda
