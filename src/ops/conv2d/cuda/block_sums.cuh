#pragma once

// The products of cuda:block_mma: fragments of the view and of the weights from shared memory, and their
// sums.

#include "ops/conv2d/cuda/block_fill.cuh"

namespace headroom::cuda {
namespace {

// What one step multiplies: words of the view, hi and lo, and of weights. Each word has a register where the
// products want it, so that none is copied.
template <bool kSplit, int kColumns8, int kRows16>
struct BlockFragments {
  unsigned hi[kRows16][4], lo[kSplit ? kRows16 : 1][4];
  WeightWords<kSplit> weights[kColumns8];
};

template <bool kSplit, int kColumns8, int kRows16>
struct BlockSums {
  float sum[kRows16][kColumns8][4] = {};
  // Of hi hi, emptied into `sum` after a few steps; and of the small products.
  float large[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4] = {};
  float small[kSplit ? kRows16 : 1][kSplit ? kColumns8 : 1][4] = {};

  __device__ void multiply(const BlockFragments<kSplit, kColumns8, kRows16>& f) {
    const auto each = [](const auto& product) {
#pragma unroll
      for (int i = 0; i < kRows16; ++i)
#pragma unroll
        for (int j = 0; j < kColumns8; ++j) product(i, j);
    };
    if constexpr (kSplit) {
      each([&](int i, int j) {
        const unsigned hi[2] = {f.weights[j].x, f.weights[j].y};
        mma_16bit<Half>(small[i][j], f.lo[i], hi);
      });
      each([&](int i, int j) {
        const unsigned hi[2] = {f.weights[j].x, f.weights[j].y};
        mma_16bit<Half>(large[i][j], f.hi[i], hi);
      });
      each([&](int i, int j) {
        const unsigned lo[2] = {f.weights[j].z, f.weights[j].w};
        mma_16bit<Half>(small[i][j], f.hi[i], lo);
      });
    } else {
      each([&](int i, int j) {
        const unsigned hi[2] = {f.weights[j].x, f.weights[j].y};
        mma_16bit<Half>(sum[i][j], f.hi[i], hi);
      });
    }
  }
  __device__ void promote_large() {
    if constexpr (kSplit) promote(sum, large);
  }
  __device__ void finish() {
    if constexpr (kSplit) promote(sum, large), promote(sum, small);
  }
};

// The sum over all steps for 16 kRows16 rows, whose windows begin at `at`, in bytes from the first of shared
// memory. What a step needs is read a step ahead, its places two: steps take turns with two sets of
// registers. What is read past the last step is not used.
template <bool kSplit, int kColumns8, int kRows16>
__device__ inline void sum_block(const BlockPlan& q, const unsigned char* memory, const int (&at)[kRows16][2],
                                 BlockSums<kSplit, kColumns8, kRows16>& sums) {
  static_assert(kBlockGroup == 4);
  using Fragments = BlockFragments<kSplit, kColumns8, kRows16>;
  using Words = WeightWords<kSplit>;
  const int lane = static_cast<int>(threadIdx.x) % 32, low = 4 * q.view_words;
  const unsigned char* weights = memory + lane * sizeof(Words);
  const unsigned char* terms = memory + q.terms_at + lane % 4 * sizeof(int2);
  int2 term = *reinterpret_cast<const int2*>(terms);
  const auto read = [&](Fragments& f) {
#pragma unroll
    for (int j = 0; j < kColumns8; ++j)
      f.weights[j] = *reinterpret_cast<const Words*>(weights + j * 32 * sizeof(Words));
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const unsigned char* word = memory + (at[i][e % 2] + (e < 2 ? term.x : term.y));
        f.hi[i][e] = *reinterpret_cast<const unsigned*>(word);
        if constexpr (kSplit) f.lo[i][e] = *reinterpret_cast<const unsigned*>(word + low);
      }
    weights += kColumns8 * 32 * sizeof(Words), terms += 4 * sizeof(int2);
    term = *reinterpret_cast<const int2*>(terms);
  };
  Fragments even, odd;
  read(even);
  int left = q.steps;
#pragma unroll 1
  for (; left >= kBlockGroup; left -= kBlockGroup) {
    read(odd), sums.multiply(even);
    read(even), sums.multiply(odd);
    read(odd), sums.multiply(even);
    read(even), sums.multiply(odd);
    sums.promote_large();
  }
  if (left > 0) read(odd), sums.multiply(even);
  if (left > 1) read(even), sums.multiply(odd);
  if (left > 2) sums.multiply(even);
  sums.finish();
}

}  // namespace
}  // namespace headroom::cuda
