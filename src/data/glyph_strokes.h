#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace headroom {

struct Point {
  double x = 0, y = 0;
};

// One form of a digit, in a unit square with y downwards. Points are named a, b, c, ... in order; a stroke is
// a smooth curve through the points it names. Strokes that share a name meet there in a corner. A stroke that
// ends at its start is a closed loop.
struct GlyphStyle {
  double weight;         // frequency relative to the digit's other styles
  std::string_view pen;  // strokes, separated by spaces
  std::vector<Point> points;
};

std::span<const GlyphStyle> glyph_styles(int digit);

}  // namespace headroom
