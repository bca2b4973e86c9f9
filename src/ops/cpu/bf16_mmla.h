#pragma once

// Tiles and packing of bf16_tile.cc by Arm's matrix instruction (BFMMLA): two rows times two columns, four
// terms of each. Packed lines lie in pairs: four terms of one, four of the other.

#include <arm_neon.h>

#include "ops/cpu/bf16_tile.h"

namespace headroom::bf16::mmla {

#define HEADROOM_MMLA __attribute__((target("arch=armv8.2-a+bf16")))

inline constexpr int kRowPairs = 4, kQuads = 3;  // 4 x 6 of 32 registers hold 8 x 12 sums
inline constexpr int kTerms = 4;                 // of an instruction

HEADROOM_MMLA inline float32x4_t first_rows(float32x4_t left, float32x4_t right) {
  return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(left), vreinterpretq_f64_f32(right)));
}
HEADROOM_MMLA inline float32x4_t second_rows(float32x4_t left, float32x4_t right) {
  return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(left), vreinterpretq_f64_f32(right)));
}

HEADROOM_MMLA inline void store_four(float32x4_t sum, float alpha, float beta, float* c) {
  float32x4_t scaled = vmulq_n_f32(sum, alpha);
  if (beta != 0) scaled = vfmaq_n_f32(scaled, vld1q_f32(c), beta);
  vst1q_f32(c, scaled);
}

// Sums of a tile that is not whole.
inline void store_part(const float* sums, int row_step, int rows, int columns, float alpha, float beta,
                       float* c, std::int64_t ldc) {
  for (int r = 0; r < rows; ++r, sums += row_step, c += ldc)
    for (int j = 0; j < columns; ++j) c[j] = alpha * sums[j] + (beta == 0 ? 0 : beta * c[j]);
}

template <int kPairs, int kFours>
HEADROOM_MMLA inline void store_all(const float32x4_t (&sums)[kPairs][2 * kFours], float alpha, float beta,
                                    float* c, std::int64_t ldc) {
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p, c += 2 * ldc)
#pragma GCC unroll 4
    for (int f = 0; f < kFours; ++f) {
      store_four(first_rows(sums[p][2 * f], sums[p][2 * f + 1]), alpha, beta, c + 4 * f);
      store_four(second_rows(sums[p][2 * f], sums[p][2 * f + 1]), alpha, beta, c + ldc + 4 * f);
    }
}

// A block of terms is one run.
template <int kPairs, int kFours>
HEADROOM_MMLA void multiply_pairs(int rows, int columns, std::int64_t terms, const Bits* left,
                                  const Bits* right, float alpha, float beta, float* c, std::int64_t ldc) {
  constexpr int kColumnPairs = 2 * kFours;
  const auto* a = reinterpret_cast<const bfloat16_t*>(left);
  const auto* b = reinterpret_cast<const bfloat16_t*>(right);
  float32x4_t sums[kPairs][kColumnPairs];
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p)
#pragma GCC unroll 8
    for (int q = 0; q < kColumnPairs; ++q) sums[p][q] = vdupq_n_f32(0);
  for (std::int64_t t = 0; t < terms; t += kTerms, a += 8 * kPairs, b += 8 * kColumnPairs) {
    bfloat16x8_t rows_of[kPairs];
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) rows_of[p] = vld1q_bf16(a + 8 * p);
#pragma GCC unroll 8
    for (int q = 0; q < kColumnPairs; ++q) {
      const bfloat16x8_t two = vld1q_bf16(b + 8 * q);
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) sums[p][q] = vbfmmlaq_f32(sums[p][q], rows_of[p], two);
      asm volatile("" ::: "memory");  // earlier loads of b would take the registers of sums
    }
  }
  if (rows == 2 * kPairs && columns == 4 * kFours)
    return store_all<kPairs, kFours>(sums, alpha, beta, c, ldc);
  float whole[2 * kPairs][4 * kFours];
  store_all<kPairs, kFours>(sums, 1, 0, whole[0], 4 * kFours);
  store_part(whole[0], 4 * kFours, rows, columns, alpha, beta, c, ldc);
}

// By counts known while compiling: sums stay in registers.
template <int kPairs, int kFours>
void multiply(int rows, int columns, std::int64_t terms, const Bits* a, const Bits* b, const RunOfTerms& run,
              float alpha, float beta, float* c, std::int64_t ldc) {
  if constexpr (kPairs > 1)
    if (rows <= 2 * (kPairs - 1))
      return multiply<kPairs - 1, kFours>(rows, columns, terms, a, b, run, alpha, beta, c, ldc);
  if constexpr (kFours > 1)
    if (columns <= 4 * (kFours - 1))
      return multiply<kPairs, kFours - 1>(rows, columns, terms, a, b, run, alpha, beta, c, ldc);
  multiply_pairs<kPairs, kFours>(rows, columns, terms, a, b, alpha, beta, c, ldc);
}

HEADROOM_MMLA inline bfloat16x8_t rounded(float32x4_t first, float32x4_t second) {
  return vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(first), second);
}

HEADROOM_MMLA inline void store_pair(float32x4_t first, float32x4_t second, Bits* to) {
  vst1q_bf16(reinterpret_cast<bfloat16_t*>(to), rounded(first, second));
}

// The first `count` of four.
HEADROOM_MMLA inline float32x4_t load_some(const float* from, std::int64_t count) {
  if (count >= 4) return vld1q_f32(from);
  float own[4] = {};
  for (std::int64_t i = 0; i < count; ++i) own[i] = from[i];
  return vld1q_f32(own);
}

// Four lines whose term is `from`, `from + term_step`, …: as many lines of four terms.
HEADROOM_MMLA inline void load_turned(const float* from, std::int64_t term_step, std::int64_t lines,
                                      std::int64_t terms, float32x4_t (&line)[4]) {
  float32x4_t term[4];
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) term[t] = t < terms ? load_some(from + t * term_step, lines) : vdupq_n_f32(0);
  const float32x4_t low_a = vzip1q_f32(term[0], term[2]), low_b = vzip1q_f32(term[1], term[3]),
                    high_a = vzip2q_f32(term[0], term[2]), high_b = vzip2q_f32(term[1], term[3]);
  line[0] = vzip1q_f32(low_a, low_b), line[1] = vzip2q_f32(low_a, low_b);
  line[2] = vzip1q_f32(high_a, high_b), line[3] = vzip2q_f32(high_a, high_b);
}

// Terms of a line lie side by side.
HEADROOM_MMLA inline void pack_lines(const float* from, std::int64_t line_step, std::int64_t lines,
                                     std::int64_t terms, std::int64_t width, std::int64_t filled, Bits* to) {
  for (std::int64_t l = 0; l < width; l += 2) {
    const float* const line = from + l * line_step;
    Bits* at = to + l * kTerms;
    for (std::int64_t t = 0; t < filled; t += kTerms, at += width * kTerms) {
      const float32x4_t first = l < lines ? load_some(line + t, terms - t) : vdupq_n_f32(0),
                        second = l + 1 < lines ? load_some(line + line_step + t, terms - t) : vdupq_n_f32(0);
      store_pair(first, second, at);
    }
  }
}

// Lines of a term lie side by side.
HEADROOM_MMLA inline void pack_columns(const float* from, std::int64_t term_step, std::int64_t lines,
                                       std::int64_t terms, std::int64_t width, std::int64_t filled,
                                       Bits* to) {
  for (std::int64_t t = 0; t < filled; t += kTerms, from += kTerms * term_step, to += width * kTerms)
    for (std::int64_t l = 0; l < width; l += 4) {
      float32x4_t line[4];
      load_turned(from + l, term_step, lines - l, terms - t, line);
      store_pair(line[0], line[1], to + l * kTerms);
      if (l + 2 < width) store_pair(line[2], line[3], to + (l + 2) * kTerms);
    }
}

inline void pack(const float* from, std::int64_t line_step, std::int64_t term_step, std::int64_t lines,
                 std::int64_t terms, std::int64_t width, std::int64_t filled, Bits* to) {
  if (line_step == 1)
    pack_columns(from, term_step, lines, terms, width, filled, to);
  else
    pack_lines(from, line_step, lines, terms, width, filled, to);
}

inline constexpr int kChains = 16;

HEADROOM_MMLA inline void chains(std::int64_t rounds) {
  float32x4_t sums[kChains];
  uint16x8_t y = vdupq_n_u16(0);
  asm volatile("" : "+w"(y));
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) {
    sums[i] = vdupq_n_f32(0);
    asm volatile("" : "+w"(sums[i]));
  }
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i)
      sums[i] = vbfmmlaq_f32(sums[i], vreinterpretq_bf16_u16(y), vreinterpretq_bf16_u16(y));
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) asm volatile("" : "+w"(sums[i]));
}

inline Version version() {
  return {.name = "bfmmla",
          .a = {.lines = 2 * kRowPairs, .lanes = 2, .pack = pack},
          .b = {.lines = 4 * kQuads, .lanes = 4, .pack = pack},
          .step = kTerms,
          .block_terms = 1024,  // 8 rows of A take 16 KiB
          .run_terms = 1024,
          .flops = 1.8e11,
          .multiply = multiply<kRowPairs, kQuads>,
          .chains = chains,
          .round_products = kChains * 16};
}

#undef HEADROOM_MMLA

}  // namespace headroom::bf16::mmla
