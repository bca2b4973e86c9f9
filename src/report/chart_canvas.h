#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::chart {

inline constexpr double kChartWidth = 760;
inline constexpr double kFont = 12, kTitleFont = 16, kNoteFont = 11;
inline constexpr std::size_t kColours = 8;  // Okabe and Ito's: told apart by colour-blind readers, too

std::string escaped(std::string_view text);  // for XML: & < > " and characters that XML does not allow

// An estimate, on the safe side: the reader's font is not known here.
double text_width(std::string_view text, double font = kFont);
// Lines of at most `width`; a word that is longer is broken.
std::vector<std::string> wrapped(std::string_view text, double width, double font = kFont);

enum class Anchor { start, middle, end };

// The elements of one picture, and the file around them. Sizes are in SVG's units, from the top left.
class Canvas {
 public:
  Canvas(std::string title, std::string description)
      : title_(std::move(title)), description_(std::move(description)) {}

  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view kind = "ink", double font = kFont);
  void upright_text(double x, double y, std::string_view text);  // reads upwards, centred on the point
  // `kind` is a class of the style sheet: "grid", "minor", "axis", "reference", "error".
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  void rect(double x, double y, double width, double height, std::string_view attributes,
            std::string_view tip = {});
  void raw(std::string_view element) { body_ += element, body_ += '\n'; }

  // Blocks that every chart has. Each returns the y below it.
  double heading(double width);
  struct Key {
    std::string name;
    std::size_t series;
    bool line = false, marker = false, dashed = false;
  };
  double legend(double x, double y, double width, const std::vector<Key>& keys);
  double note(double x, double y, double width, std::string_view text);

  std::string file(double width, double height) const;

 private:
  std::string title_, description_, body_;
};

// Class attributes of a series: its colour as a filled area or as a line.
std::string fill_class(std::size_t series);
std::string line_class(std::size_t series);
// A mark whose shape differs between neighbours, so that colour is not the only sign.
std::string marker(std::size_t series, double x, double y, std::string_view tip);

}  // namespace headroom::chart
