#pragma once

// The inner loop of bf16_gemm, one version for each set of instructions, chosen when the program runs.
// Factors are fp32, rounded to bf16 when they are packed; sums are fp32.

#include <cstdint>
#include <span>
#include <string_view>

namespace headroom::bf16 {

using Bits = std::uint16_t;  // the upper half of an fp32

// How one factor lies packed: in panels of lines (rows of A, columns of B). `step` terms of all lines come
// before the next ones; their order is the version's own. The width of a panel is a multiple of `lanes`;
// lines and terms that fill it up are zero.
struct PanelForm {
  int lines = 0;  // at most
  int lanes = 1;
  // `terms` terms of `lines` lines from `from` on to a panel of such a width; zeros up to `filled` terms.
  // Either the terms of a line or the lines of a term lie side by side: one step is 1.
  void (*pack)(const float* from, std::int64_t line_step, std::int64_t term_step, std::int64_t lines,
               std::int64_t terms, std::int64_t width, std::int64_t filled, Bits* to) = nullptr;

  std::int64_t width(std::int64_t lines_of_panel) const {
    return (lines_of_panel + lanes - 1) / lanes * lanes;
  }
};

// A block of terms is added in runs. Between them the sums of a tile wait in memory of their own.
struct RunOfTerms {
  float* kept = nullptr;  // kTileSums of them, aligned to 64 bytes
  bool first = true, last = true;
};
// Those of a product of exact fp32: of the nine products of three parts each, the others are too small to
// count.
inline constexpr int kParts = 3, kProductsOfParts = 6;
inline constexpr std::int64_t kTileSums = 32 * 32;  // of the largest tile

struct Version {
  std::string_view name;  // "amx_bf16"
  int parts = 1;  // bf16 for each element of a factor; several: the product is as exact as one of fp32
  PanelForm a, b;
  int step = 1;         // the number of terms of packed panels is a multiple of it
  int block_terms = 0;  // terms that are packed at a time, at most
  int run_terms = 0;    // terms of a run, at most
  double flops = 0;     // FLOP/s of one core at 2 GHz, about
  // Around calls of multiply on one thread; null: nothing to do.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  // c[rows, columns] = alpha a b + beta c after the last run; c is not read if beta is 0. Every sum adds its
  // terms in their order, whatever the extents are.
  void (*multiply)(int rows, int columns, std::int64_t terms, const Bits* a, const Bits* b,
                   const RunOfTerms& run, float alpha, float beta, float* c, std::int64_t ldc) = nullptr;
  // For measurements: independent products and nothing else, and how many of them a round has.
  void (*chains)(std::int64_t rounds) = nullptr;
  int round_products = 0;
};

// Those that this processor has, fastest first; empty: it has none.
std::span<const Version> versions();
const Version& version_named(std::string_view name);  // rejects a name that this processor does not have
// The one that products use: the first, unless another was named. Null: this processor has none.
const Version* used();
void use(std::string_view name);
// The one whose products are as exact as those of fp32. Null: this processor has none.
const Version* exact();

}  // namespace headroom::bf16
