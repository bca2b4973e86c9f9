#pragma once

// What a warp does with two rows of a classifier's last hidden layer: their scores, and the slope of the
// loss.

#include "ops/cuda/block.cuh"

namespace headroom::cuda {

// Elements k to k + 3 of a row, 0 past its end; k is a multiple of 4.
__device__ inline float4 four(const float* row, int k, int n, bool whole) {
  if (whole) return *reinterpret_cast<const float4*>(row + k);
  return {row[k], k + 1 < n ? row[k + 1] : 0, k + 2 < n ? row[k + 2] : 0, k + 3 < n ? row[k + 3] : 0};
}

__device__ inline float dot(float sum, float4 a, float4 b) {
  sum = fmaf(a.x, b.x, sum);
  sum = fmaf(a.y, b.y, sum);
  sum = fmaf(a.z, b.z, sum);
  return fmaf(a.w, b.w, sum);
}

// One step of sums over lanes, of kCount values of which each lane keeps half: lanes with the bit keep the
// upper half.
template <int kCount, int kBit>
__device__ void halve(float (&v)[16], int lane) {
  const bool upper = (lane & kBit) != 0;
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) {
    const float mine = upper ? v[i + kCount / 2] : v[i], theirs = upper ? v[i] : v[i + kCount / 2];
    v[i] = mine + __shfl_xor_sync(~0u, theirs, kBit);
  }
}

// Where the weight of class c and input k lies in shared memory: four inputs of one class side by side, then
// the other classes, and a gap that leads neighbouring lanes to different banks.
template <int kC>
__device__ int place_of(int c, int k) {
  return k / 4 * (4 * kC + 4) + 4 * c + k % 4;
}

// Every lane has a part of each class's score in two rows. Lane c gets the score of class c in the first row,
// lane 16 + c that in the second.
template <int kC>
__device__ float share_scores(const float (&a)[kC], const float (&b)[kC], int lane) {
  float v[16];
  const bool second_half = (lane & 16) != 0;
#pragma unroll
  for (int c = 0; c < 16; ++c) {
    if (c >= kC) {
      v[c] = 0;
      continue;
    }
    const float mine = second_half ? b[c] : a[c], theirs = second_half ? a[c] : b[c];
    v[c] = mine + __shfl_xor_sync(~0u, theirs, 16);
  }
  halve<16, 8>(v, lane);
  halve<8, 4>(v, lane);
  halve<4, 2>(v, lane);
  halve<2, 1>(v, lane);
  return v[0];
}

// Two rows of h, and a stretch of each that a warp has on its way at once.
template <int kC>
struct RowPair {
  static constexpr int kAhead = kC > 10 ? 2 : 4, kColumns = kAhead * 128;  // as far as registers reach
  float4 x[kAhead], y[kAhead];

  __device__ void load(const float* first, const float* second, int from, int inputs, bool whole, int lane) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = from + i * 128 + lane * 4;
      if (k < inputs) x[i] = four(first, k, inputs, whole), y[i] = four(second, k, inputs, whole);
    }
  }
};

// Scores of two rows by one warp: lane c gets that of class c in the first row, lane 16 + c in the second.
// `pair` has their first columns already.
template <int kC>
__device__ float scores(RowPair<kC>& pair, const float* first, const float* second, const float* w,
                        int inputs, bool whole, int lane) {
  float a[kC] = {}, b[kC] = {};
  for (int from = 0; from < inputs; from += RowPair<kC>::kColumns) {
    if (from > 0) pair.load(first, second, from, inputs, whole, lane);
#pragma unroll
    for (int i = 0; i < RowPair<kC>::kAhead; ++i) {
      const int k = from + i * 128 + lane * 4;
      if (k >= inputs) break;
#pragma unroll
      for (int c = 0; c < kC; ++c) {
        const float4 weights = *reinterpret_cast<const float4*>(w + place_of<kC>(c, k));
        a[c] = dot(a[c], pair.x[i], weights);
        b[c] = dot(b[c], pair.y[i], weights);
      }
    }
  }
  return share_scores<kC>(a, b, lane);
}

// The slope of an activation (as in Activation) by its result.
__device__ inline float slope(int activation, float y) {
  switch (activation) {
    case 1:
      return y > 0 ? 1.0f : 0.0f;
    case 2:
      return y * (1 - y);
    case 3:
      return 1 - y * y;
    default:
      return 1;
  }
}

struct RowSlope {
  float d;
  double loss;
  bool correct;
};

// Half a warp has the scores of a row, lane c that of class c; all lanes get loss and verdict.
__device__ inline RowSlope row_slope(float score, int classes, std::int64_t label, float scale, int lane) {
  const int c = lane % 16;
  const bool there = c < classes, known = label >= 0 && label < classes;
  const float most = warp_max(there ? score : -INFINITY, 16);
  const float e = there ? expf(score - most) : 0;
  const float sum = warp_sum(e, 16);
  const float picked = __shfl_sync(~0u, score, (lane & 16) + (known ? static_cast<int>(label) : 0));
  const float own = known ? picked : NAN;
  const bool yields = !there || (c < label ? score < own : c > label ? score <= own : own == own);
  const unsigned right = __ballot_sync(~0u, yields && known) >> (lane & 16) & 0xFFFFu;
  const float p = e * (1.0f / sum);
  const float d = !there ? 0 : known ? scale * (p - (c == label ? 1.0f : 0.0f)) : NAN;
  return {d, double{logf(sum)} - (double{own} - double{most}), right == 0xFFFFu};
}

// What the blocks of an earlier launch left, [blocks, n], added up in a fixed order: 32 sums from `first` on
// by a block of 256 threads, whose warps share the blocks. The first warp gets them.
__device__ inline float sum_of_blocks(const float* left, int blocks, std::int64_t n, std::int64_t first) {
  __shared__ float gathered[8][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t i = first + lane;
  float sum = 0;
  if (i < n)
#pragma unroll 8
    for (int k = warp; k < blocks; k += 8) sum += left[k * n + i];
  gathered[warp][lane] = sum;
  __syncthreads();
  float half[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) half[k] = gathered[k][lane] + gathered[k + 4][lane];
  return (half[0] + half[2]) + (half[1] + half[3]);
}

}  // namespace headroom::cuda
