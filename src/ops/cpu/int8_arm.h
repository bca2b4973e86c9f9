#pragma once

// The versions of int8_tile.cc for Arm: matrix instructions (I8MM) and dot products of four bytes.

#include <arm_neon.h>

#include <cstring>

#include "ops/cpu/int8_counts.h"
#include "ops/cpu/int8_tile.h"

namespace headroom::int8 {

#define HEADROOM_DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#define HEADROOM_I8MM __attribute__((target("arch=armv8.2-a+i8mm")))

inline constexpr int kQuarter = kPanel / 4;  // columns at a time
inline constexpr int kGroupBytes = kPanel * 4;

// Thirty-two registers: a quarter of a panel for all rows, 6 x 4 vectors of sums.
template <int kCount>
HEADROOM_DOT void rows_dotprod(std::int64_t groups, const std::int8_t* rows, const std::int8_t* panel,
                               std::int32_t* sums) {
  constexpr int kVectors = 4;
  int32x4_t sum[kCount][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = vdupq_n_s32(0);
  for (std::int64_t g = 0; g < groups; ++g) {
    int8x16_t b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) b[v] = vld1q_s8(panel + g * kGroupBytes + v * 16);
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) {
      std::int32_t four;
      std::memcpy(&four, rows + (r * groups + g) * 4, sizeof four);
      const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = vdotq_s32(sum[r][v], b[v], a);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vst1q_s32(sums + r * kPanel + v * 4, sum[r][v]);
}

// Two groups of a row, or the last one and zeros.
template <bool kTwo>
HEADROOM_I8MM inline int8x8_t terms_of(const std::int8_t* from) {
  if constexpr (kTwo) return vld1_s8(from);
  std::uint32_t four;
  std::memcpy(&four, from, sizeof four);
  return vcreate_s8(four);
}

// kPairs pairs of rows, of which the last may be half: the sums so far, and two groups of terms (or the last
// one) of a quarter of a panel.
template <int kPairs>
struct PairSums {
  static constexpr int kColumnPairs = kQuarter / 2;
  int32x4_t of[kPairs][kColumnPairs];

  template <bool kTwo>
  HEADROOM_I8MM void add(int count, std::int64_t row_bytes, const std::int8_t* rows,
                         const std::int8_t* panel) {
    int8x16_t a[kPairs];
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      const std::int8_t* const row = rows + 2 * p * row_bytes;
      a[p] = vcombine_s8(terms_of<kTwo>(row),
                         2 * p + 1 < count ? terms_of<kTwo>(row + row_bytes) : vdup_n_s8(0));
    }
#pragma GCC unroll 4
    for (int v = 0; v < kColumnPairs / 2; ++v) {
      const int32x4_t first = vreinterpretq_s32_s8(vld1q_s8(panel + v * 16)),
                      second = kTwo ? vreinterpretq_s32_s8(vld1q_s8(panel + kGroupBytes + v * 16))
                                    : vdupq_n_s32(0);
      const int8x16_t left = vreinterpretq_s8_s32(vzip1q_s32(first, second)),
                      right = vreinterpretq_s8_s32(vzip2q_s32(first, second));
#pragma GCC unroll 4
      for (int p = 0; p < kPairs; ++p) {
        of[p][2 * v] = vmmlaq_s32(of[p][2 * v], a[p], left);
        of[p][2 * v + 1] = vmmlaq_s32(of[p][2 * v + 1], a[p], right);
      }
      asm volatile("" ::: "memory");  // earlier loads of the panel would take the registers of sums
    }
  }
};

template <int kCount>
HEADROOM_I8MM void rows_i8mm(std::int64_t groups, const std::int8_t* rows, const std::int8_t* panel,
                             std::int32_t* sums) {
  constexpr int kPairs = (kCount + 1) / 2, kColumnPairs = kQuarter / 2;
  PairSums<kPairs> sum;
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p)
#pragma GCC unroll 8
    for (int q = 0; q < kColumnPairs; ++q) sum.of[p][q] = vdupq_n_s32(0);
  std::int64_t g = 0;
  for (; g + 2 <= groups; g += 2)
    sum.template add<true>(kCount, groups * 4, rows + g * 4, panel + g * kGroupBytes);
  if (g < groups) sum.template add<false>(kCount, groups * 4, rows + g * 4, panel + g * kGroupBytes);
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p)
#pragma GCC unroll 4
    for (int q = 0; q < kColumnPairs; q += 2) {
      const int64x2_t left = vreinterpretq_s64_s32(sum.of[p][q]),
                      right = vreinterpretq_s64_s32(sum.of[p][q + 1]);
      std::int32_t* const to = sums + 2 * p * kPanel + 2 * q;
      vst1q_s32(to, vreinterpretq_s32_s64(vzip1q_s64(left, right)));
      if (2 * p + 1 < kCount) vst1q_s32(to + kPanel, vreinterpretq_s32_s64(vzip2q_s64(left, right)));
    }
}

// body.operator()<count>(panel, sums) for each quarter of a panel.
template <class Body>
void each_quarter(int count, int columns, const std::uint8_t* panel, std::int32_t* sums, Body&& body) {
  const auto* from = reinterpret_cast<const std::int8_t*>(panel);
  for (int quarter = 0; quarter * kQuarter < columns; ++quarter, from += kQuarter * 4, sums += kQuarter)
    dispatch_count<kRows>(count, [&]<int kCount>() { body.template operator()<kCount>(from, sums); });
}

inline void dotprod(int count, int columns, std::int64_t groups, const std::int8_t* rows,
                    const std::uint8_t* panel, std::int32_t* sums) {
  each_quarter(count, columns, panel, sums, [&]<int kCount>(const std::int8_t* from, std::int32_t* to) {
    rows_dotprod<kCount>(groups, rows, from, to);
  });
}

inline void i8mm(int count, int columns, std::int64_t groups, const std::int8_t* rows,
                 const std::uint8_t* panel, std::int32_t* sums) {
  each_quarter(count, columns, panel, sums, [&]<int kCount>(const std::int8_t* from, std::int32_t* to) {
    rows_i8mm<kCount>(groups, rows, from, to);
  });
}

// Independent sums by one instruction: a function for each, because a target belongs to a function. All loops
// over sums are unrolled, or the sums would lie in memory.
#define HEADROOM_EACH_SUM _Pragma("GCC unroll 16") for (int i = 0; i < kChains; ++i)
#define HEADROOM_CHAINS(target, name, instruction)          \
  target inline void name(std::int64_t rounds) {            \
    int32x4_t sum[kChains] = {};                            \
    int8x16_t y = vdupq_n_s8(0);                            \
    asm volatile("" : "+w"(y));                             \
    HEADROOM_EACH_SUM asm volatile("" : "+w"(sum[i]));      \
    for (std::int64_t r = 0; r < rounds; ++r) {             \
      HEADROOM_EACH_SUM sum[i] = instruction(sum[i], y, y); \
    }                                                       \
    HEADROOM_EACH_SUM asm volatile("" : "+w"(sum[i]));      \
  }
HEADROOM_CHAINS(HEADROOM_DOT, chains_dotprod, vdotq_s32)
HEADROOM_CHAINS(HEADROOM_I8MM, chains_i8mm, vmmlaq_s32)
#undef HEADROOM_CHAINS
#undef HEADROOM_EACH_SUM

#undef HEADROOM_I8MM
#undef HEADROOM_DOT

}  // namespace headroom::int8
