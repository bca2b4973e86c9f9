#include "data/glyph_strokes.h"

#include <array>

#include "base/text.h"

namespace headroom {
namespace {

struct Row {
  int digit;
  double weight;
  std::string_view pen;
  std::string_view points;  // x,y in hundredths of the square
};

// Drawn by hand after common handwriting; weights follow how often each form occurs. Proportions are loose:
// the distortions in glyphs.cc stretch, slant and bend every form.
constexpr Row kRows[] = {
    // 0: wide and narrow ovals, one closed with a curl, one left open.
    {0, 3, "abcdefgha", "50,0 24,12 13,45 22,84 50,100 78,86 87,50 76,12"},
    {0, 2, "abcdefgha", "50,0 35,13 27,48 34,86 50,100 66,87 73,50 65,13"},
    {0, 2, "abcdefghi", "62,10 38,4 17,30 15,70 40,98 72,86 86,50 74,12 46,2"},
    {0, 1, "abcdefgh", "56,3 26,12 13,50 28,92 58,98 84,70 84,30 66,6"},
    // 1: a bare stroke, straight or bent; with a flag; with flag and foot; with a foot alone.
    {1, 7, "ab", "50,0 50,100"},
    {1, 2, "abc", "52,0 48,50 52,100"},
    {1, 1.2, "ab bc", "30,20 53,0 52,100"},
    {1, 0.8, "ab bc de", "28,20 53,0 52,100 22,100 82,99"},
    {1, 0.4, "ab cd", "50,0 50,100 28,100 74,100"},
    // 2: straight base, looped base, cornered like a z, wavy base, swan neck, a large loop, hardly a head.
    {2, 3, "abcdefg gh", "14,24 30,5 58,1 80,18 73,44 45,72 10,98 92,96"},
    {2, 3, "abcdefghijk", "18,20 44,1 74,12 72,42 48,74 22,95 6,88 20,74 46,82 70,96 96,90"},
    {2, 2, "abcde efg", "14,12 46,1 78,10 68,40 10,96 50,90 92,97"},
    {2, 1.5, "abcdefghij", "22,30 30,8 58,0 78,20 64,52 32,84 12,98 34,90 62,96 94,86"},
    {2, 1, "abcdef fg", "20,10 50,4 72,20 70,50 50,80 26,97 86,100"},
    {2, 1.5, "abcdefghijk", "20,14 50,0 80,20 76,62 50,94 20,96 12,74 32,56 60,72 80,94 98,98"},
    {2, 0.8, "abc cd", "50,2 56,36 14,90 92,88"},
    // 3: two bowls with a cusp, flat top, a loop between the bowls, one flowing curve, a small head, angular.
    {3, 4, "abcde efghi", "16,12 46,0 78,16 68,38 38,47 74,55 85,78 50,100 10,90"},
    {3, 1.2, "ab bc cdefg", "16,3 80,2 44,42 74,50 86,74 50,100 10,90"},
    {3, 1.5, "abcdefghijk", "18,10 50,0 78,17 64,40 40,50 34,45 46,42 76,56 82,82 50,100 12,90"},
    {3, 2.5, "abcdefghi", "16,14 42,1 74,10 72,34 46,48 72,58 82,80 50,99 10,90"},
    {3, 1.5, "abcde efghi", "24,8 46,1 68,12 60,32 36,40 76,48 86,72 56,96 8,98"},
    {3, 1, "abc cd defg", "10,10 44,2 76,6 42,44 66,56 60,84 24,100"},
    // 4: open with a corner, open and rounded, closed with a point, closed and crossed, a deep cup, one pull.
    {4, 4, "abc cd efg", "22,4 16,30 10,56 90,50 76,0 70,50 66,100"},
    {4, 3, "abcde fgh", "14,6 10,36 26,54 56,52 84,44 84,2 78,50 74,100"},
    {4, 2, "ab bc ad", "66,0 8,64 96,62 64,100"},
    {4, 1.5, "ab bc def", "60,2 6,60 96,58 74,30 70,64 66,100"},
    {4, 1.5, "abcd efg", "10,16 18,52 50,58 82,36 86,0 80,50 76,100"},
    {4, 0.4, "abcda aef", "72,6 40,16 10,50 60,52 70,50 66,100"},
    // 5: square shoulder, bar lifted off, rounded shoulder, small bowl, long bar, tail, large bowl, like an
    // s.
    {5, 3, "ab bc cdefgh", "86,2 32,4 24,42 50,36 80,54 76,84 44,100 10,92"},
    {5, 2.5, "ab cd defghi", "36,6 96,0 34,8 24,44 52,38 78,56 72,86 42,100 8,90"},
    {5, 1.5, "abcdefgh", "86,4 50,5 28,20 34,42 66,55 80,78 52,100 14,92"},
    {5, 2, "ab bc cdefg", "94,0 46,6 30,40 60,48 70,70 46,94 6,96"},
    {5, 1, "abc cd defgh", "98,6 60,2 30,6 30,40 62,42 74,66 52,92 10,98"},
    {5, 1.5, "ab bc cdefg", "98,2 44,10 38,40 58,52 60,74 40,93 10,100"},
    {5, 1.5, "ab cd defghi", "30,4 90,2 28,2 22,50 52,40 84,58 82,86 46,100 10,86"},
    {5, 1.2, "abcdefgh", "80,10 62,0 36,10 36,36 60,54 70,78 44,100 16,84"},
    // 6: round back, straight back, a spiral left open, a low wide bowl, hooked top, upright with a large
    // bowl, tall.
    {6, 3, "abcdefghi", "72,1 38,20 16,58 26,94 60,100 82,78 66,56 38,62 20,82"},
    {6, 3, "abcdefghc", "62,0 36,30 22,70 32,96 60,98 76,78 62,58 36,62"},
    {6, 2, "abcdefg", "60,0 30,28 16,68 40,99 74,86 66,62 34,74"},
    {6, 2, "abcdefghi", "56,0 26,34 12,74 34,100 70,98 92,80 76,64 42,72 20,90"},
    {6, 1, "abcdefghi", "84,4 60,4 28,30 20,74 44,100 74,88 72,62 46,54 24,70"},
    {6, 2, "abcdefghi", "30,0 16,34 14,74 40,100 78,88 84,58 62,42 44,60 46,92"},
    {6, 1.5, "abcdefgh", "50,2 26,30 20,76 46,100 72,80 64,50 42,56 26,80"},
    // 7: plain, bent stem, with a bar, with a tick at the left, waved top, rounded, narrow, rounded with a
    // bar.
    {7, 3, "ab bc", "8,8 84,4 40,100"},
    {7, 3, "ab bcd", "8,6 86,5 58,46 44,100"},
    {7, 1.3, "ab bcd ef", "12,7 86,4 60,46 40,100 28,52 84,47"},
    {7, 1.5, "ab bc cde", "10,26 14,6 86,4 62,44 48,100"},
    {7, 1.5, "abcd def", "8,20 28,5 58,10 90,4 66,40 52,100"},
    {7, 1.5, "abcdef", "6,14 40,5 74,6 82,20 62,54 42,100"},
    {7, 1, "abc cde", "20,36 26,6 78,4 70,40 66,100"},
    {7, 0.8, "abcdef gh", "14,18 30,4 66,3 76,20 62,56 50,100 30,60 86,50"},
    // 8: one crossing stroke, two loops, open at the top, small head, arms apart, lower loop drawn thin.
    {8, 4, "abcdefghia", "74,10 46,0 22,18 44,44 76,70 56,98 22,82 44,54 72,30"},
    {8, 2, "abcda cefgc", "50,0 24,22 50,46 74,22 18,74 50,100 80,74"},
    {8, 2, "abcdefghi", "82,10 50,0 22,18 46,46 74,72 52,99 24,80 46,50 78,16"},
    {8, 1.5, "abcdefghia", "70,10 52,0 34,14 46,36 78,68 54,100 20,80 46,46 68,24"},
    {8, 1.5, "abcdefghij", "70,4 40,2 20,20 46,42 68,68 52,98 30,90 40,60 62,36 86,8"},
    {8, 1, "abcdefgh", "78,6 40,6 26,24 50,50 60,76 44,100 34,80 82,16"},
    // 9: straight stem, one pull, curved tail, falling left, small head, head left open, flat head, narrow.
    {9, 3, "abcdea af", "74,16 48,1 18,20 24,44 58,42 68,100"},
    {9, 2, "abcdefgh", "76,14 46,0 18,24 36,46 70,28 78,12 74,56 64,100"},
    {9, 2, "abcdea afgh", "76,20 48,1 18,20 28,44 60,42 78,62 62,94 22,94"},
    {9, 2, "abcdef fgh", "72,10 44,4 20,26 30,46 60,36 76,10 64,56 46,100"},
    {9, 1.5, "abcdeafg", "66,14 46,0 26,16 34,36 58,32 68,56 62,100"},
    {9, 0.4, "abcd efg", "66,6 34,8 20,36 68,38 74,4 70,50 66,100"},
    {9, 1.5, "abcdef fg", "78,10 42,6 10,26 22,44 56,36 80,8 72,100"},
    {9, 1, "abcdea afg", "62,12 44,0 28,16 32,38 54,36 60,60 56,100"},
};

GlyphStyle style_of(const Row& row) {
  GlyphStyle style{row.weight, row.pen, {}};
  for (const std::string& pair : split(row.points, ' ')) {
    const auto comma = pair.find(',');
    style.points.push_back({double(parse_int(pair.substr(0, comma), "x")) / 100,
                            double(parse_int(pair.substr(comma + 1), "y")) / 100});
  }
  return style;
}

}  // namespace

std::span<const GlyphStyle> glyph_styles(int digit) {
  static const auto kStyles = [] {
    std::array<std::vector<GlyphStyle>, 10> styles;
    for (const Row& row : kRows) styles[static_cast<std::size_t>(row.digit)].push_back(style_of(row));
    return styles;
  }();
  return kStyles[static_cast<std::size_t>(digit)];
}

}  // namespace headroom
