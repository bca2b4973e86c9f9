#pragma once

#include <cstdint>
#include <span>

#include "data/dataset.h"

namespace headroom {

// Drawn digits, white on black: a data set without a download. Image i of a split is a function of (seed,
// split, i) only, so a larger set starts with the smaller one and threads do not matter.
struct GlyphOptions {
  std::int64_t train = 60000, test = 10000;
  std::int64_t size = 28;  // pixels per side
  std::uint64_t seed = 0;
};

inline constexpr std::int64_t kSmallestGlyph = 12, kLargestGlyph = 1024;

Dataset make_glyphs(const GlyphOptions& options);

// One image of size x size pixels: the one make_glyphs draws at `index` of split 0 (train) or 1 (test).
void draw_glyph(std::uint64_t seed, int split, std::int64_t index, std::int64_t size,
                std::span<std::uint8_t> pixels);
int glyph_label(std::uint64_t seed, int split, std::int64_t index);

}  // namespace headroom
