#pragma once

// Packing for bf16_tile.cc with AVX512-BF16: fp32 becomes bf16, rounded to nearest even or in parts, by
// squares of 16 lines x 32 terms. A word is a pair of terms of a line.

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/cpu/bf16_tile.h"

namespace headroom::bf16 {

#define HEADROOM_BF16_TARGET __attribute__((target("avx512f,avx512bw,avx512bf16")))

inline int pair_at(const Bits* from) {
  int pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

// The first `count` of 16 lanes.
inline std::uint16_t lanes_mask(std::int64_t count) {
  return static_cast<std::uint16_t>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// 16 bf16 as fp32.
HEADROOM_BF16_TARGET inline __m512 as_fp32(__m256i bf16) {
  return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16);
}

// Two halves of 16 become 32 bf16: rounded, or as sums of several, each with the next bits. A register holds
// one part.
template <int kCount>
HEADROOM_BF16_TARGET inline void parts_of(__m512 first, __m512 second, __m512i (&parts)[kCount]) {
#pragma GCC unroll 3
  for (int p = 0; p < kCount; ++p) {
    parts[p] = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    if (p + 1 == kCount) break;
    first = _mm512_sub_ps(first, as_fp32(_mm512_castsi512_si256(parts[p])));
    second = _mm512_sub_ps(second, as_fp32(_mm512_extracti64x4_epi64(parts[p], 1)));
  }
}

// A square of 16 lines x 32 terms, as words; of each part, one after the other.
template <int kCount>
using Squares = __m512i[kCount][16];

// words[p][l] = the pairs of line l.
template <int kCount>
HEADROOM_BF16_TARGET inline void words_by_line(const float* from, std::int64_t line_step, std::int64_t lines,
                                               std::int64_t terms, Squares<kCount>& words) {
  const __mmask16 first = lanes_mask(terms), second = lanes_mask(terms - 16);
#pragma GCC unroll 16
  for (int l = 0; l < 16; ++l) {
    const bool there = l < lines;
    const float* const line = from + (there ? l : 0) * line_step;
    __m512i parts[kCount];
    parts_of<kCount>(_mm512_maskz_loadu_ps(there ? first : 0, line),
                     _mm512_maskz_loadu_ps(there ? second : 0, line + 16), parts);
    for (int p = 0; p < kCount; ++p) words[p][l] = parts[p];
  }
}

// words[p][i] = pair i of all lines.
template <int kCount>
HEADROOM_BF16_TARGET inline void words_by_pair(const float* from, std::int64_t term_step, std::int64_t lines,
                                               std::int64_t terms, Squares<kCount>& words) {
  const __mmask16 there = lanes_mask(lines);
  const __m512i alternate = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                                             7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const bool one = 2 * i < terms, two = 2 * i + 1 < terms;
    const float* const at = from + (one ? 2 * i : 0) * term_step;
    __m512i parts[kCount];
    parts_of<kCount>(_mm512_maskz_loadu_ps(one ? there : 0, at),
                     _mm512_maskz_loadu_ps(two ? there : 0, at + (two ? term_step : 0)), parts);
    for (int p = 0; p < kCount; ++p) words[p][i] = _mm512_permutexvar_epi16(alternate, parts[p]);
  }
}

template <std::size_t... I>
HEADROOM_BF16_TARGET inline __m512i lower_words(__m512i a, __m512i b, std::index_sequence<I...>) {
  typedef int Words __attribute__((vector_size(64)));
  return (__m512i)__builtin_shufflevector((Words)a, (Words)b, (I / 2 + I % 2 * 16)...);
}
template <std::size_t... I>
HEADROOM_BF16_TARGET inline __m512i upper_words(__m512i a, __m512i b, std::index_sequence<I...>) {
  typedef int Words __attribute__((vector_size(64)));
  return (__m512i)__builtin_shufflevector((Words)a, (Words)b, (8 + I / 2 + I % 2 * 16)...);
}

HEADROOM_BF16_TARGET inline void transpose_words(__m512i (&v)[16]) {
  constexpr std::make_index_sequence<16> kAll{};
  __m512i w[16];
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
    for (int l = 0; l < 8; ++l) {
      w[2 * l] = lower_words(v[l], v[l + 8], kAll);
      w[2 * l + 1] = upper_words(v[l], v[l + 8], kAll);
    }
#pragma GCC unroll 16
    for (int l = 0; l < 16; ++l) v[l] = w[l];
  }
}

// Words of a square, by pair if kByPair, else by line.
template <bool kByPair, int kCount>
HEADROOM_BF16_TARGET inline void square_words(const float* from, std::int64_t line_step,
                                              std::int64_t term_step, std::int64_t lines, std::int64_t terms,
                                              Squares<kCount>& words) {
  if (line_step == 1)
    words_by_pair<kCount>(from, term_step, lines, terms, words);
  else
    words_by_line<kCount>(from, line_step, lines, terms, words);
  if (kByPair != (line_step == 1))
    for (int p = 0; p < kCount; ++p) transpose_words(words[p]);
}

// Pairs of all lines, then the next pairs.
HEADROOM_BF16_TARGET inline void pack_pairs(const float* from, std::int64_t line_step, std::int64_t term_step,
                                            std::int64_t lines, std::int64_t terms, std::int64_t width,
                                            std::int64_t filled, Bits* to) {
  for (std::int64_t t = 0; t < filled; t += 32)
    for (std::int64_t l = 0; l < width; l += 16) {
      Squares<1> squares;
      square_words<true, 1>(from + std::min(l, lines) * line_step + std::min(t, terms) * term_step, line_step,
                            term_step, lines - l, terms - t, squares);
      const __m512i(&words)[16] = squares[0];
      const __mmask16 mask = lanes_mask(width - l);
      const std::int64_t pairs = std::min<std::int64_t>(16, (filled - t) / 2);
      Bits* at = to + t * width + 2 * l;
      if (pairs == 16)
#pragma GCC unroll 16
        for (int p = 0; p < 16; ++p) _mm512_mask_storeu_epi32(at + 2 * p * width, mask, words[p]);
      else
        for (std::int64_t p = 0; p < pairs; ++p) _mm512_mask_storeu_epi32(at + 2 * p * width, mask, words[p]);
    }
}

// Tiles of AMX, 16 words of 16 lines each, one after the other: rows of a tile of A are lines, those of a
// tile of B pairs. Widths are multiples of 16, and `filled` of 32. In parts, the tiles of 32 terms come once
// for each part.
template <bool kByPair, int kCount>
HEADROOM_BF16_TARGET inline void pack_tiles(const float* from, std::int64_t line_step, std::int64_t term_step,
                                            std::int64_t lines, std::int64_t terms, std::int64_t width,
                                            std::int64_t filled, Bits* to) {
  for (std::int64_t t = 0; t < filled; t += 32)
    for (std::int64_t l = 0; l < width; l += 16) {
      Squares<kCount> words;
      square_words<kByPair, kCount>(from + std::min(l, lines) * line_step + std::min(t, terms) * term_step,
                                    line_step, term_step, lines - l, terms - t, words);
      Bits* const at = to + kCount * t * width + l * 32;
      for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) _mm512_storeu_si512(at + p * 32 * width + i * 32, words[p][i]);
    }
}

#undef HEADROOM_BF16_TARGET

}  // namespace headroom::bf16
