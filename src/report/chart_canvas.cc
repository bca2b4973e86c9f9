#include "report/chart_canvas.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/chart_style.h"

namespace headroom::chart {
namespace {

constexpr double kLineHeight = 1.3;
constexpr double kBoldWidth = 1.15;  // of bold letters over plain ones
constexpr double kEdge = 16;         // margin of the picture

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

const char* name_of_anchor(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

std::string tip_element(std::string_view tip) {
  return tip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tip));
}

// The first characters of a word that fit, at least one.
std::size_t fitting_bytes(std::string_view word, double width, double font) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < word.size();) {
    do ++i;
    while (i < word.size() && !begins_character(word[i]));
    if (end > 0 && text_width(word.substr(0, i), font) > width) break;
    end = i;
  }
  return end;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  const std::string shown = printable(text);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view rest = std::string_view(shown).substr(i);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF"))  // U+FFFE, U+FFFF
      safe += '?', i += 2;
    else if (shown[i] == '&')
      safe += "&amp;";
    else if (shown[i] == '<')
      safe += "&lt;";
    else if (shown[i] == '>')
      safe += "&gt;";
    else if (shown[i] == '"')
      safe += "&quot;";
    else
      safe += shown[i];
  }
  return safe;
}

double text_width(std::string_view text, double font) {
  double ems = 0;
  for (const char c : text) {
    if (!begins_character(c)) continue;
    const bool wide = static_cast<unsigned char>(c) >= 0xE3;  // East Asian and beyond
    const bool narrow = std::string_view("il.,:;'|!()[] ").find(c) != std::string_view::npos;
    ems += wide ? 1.05 : narrow ? 0.34 : c == 'm' || c == 'w' || (c >= 'A' && c <= 'Z') ? 0.76 : 0.58;
  }
  return ems * font;
}

std::vector<std::string> wrapped(std::string_view text, double width, double font) {
  std::vector<std::string> lines;
  std::string line;
  const std::string shown = printable(text);  // measured as it will be written
  for (std::string word : split(shown, ' ')) {
    if (!line.empty() && text_width(line + " " + word, font) > width)
      lines.push_back(std::move(line)), line.clear();
    while (text_width(word, font) > width) {
      const std::size_t end = fitting_bytes(word, width, font);
      if (end >= word.size()) break;
      lines.push_back(word.substr(0, end));
      word.erase(0, end);
    }
    line += line.empty() ? word : " " + word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string fill_class(std::size_t series) { return fmt::format("class=\"hc-f{}\"", series % kColours); }
std::string line_class(std::size_t series) { return fmt::format("class=\"hc-l{}\"", series % kColours); }

std::string marker(std::size_t series, double x, double y, std::string_view tip) {
  static constexpr const char* kShapes[] = {"M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z",
                                            "M-3.8-3.8h7.6v7.6h-7.6z",
                                            "M0-5l4.8 8.4h-9.6z",
                                            "M0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
                                            "M0 5l4.8-8.4h-9.6z",
                                            "M-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
                                            "M-5 0l2.5-4.4h5l2.5 4.4l-2.5 4.4h-5z"};
  return fmt::format(
      "<path class=\"hc-f{} hc-mark\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\">{}</path>",
      series % kColours, x, y, kShapes[series % std::size(kShapes)], tip_element(tip));
}

void Canvas::text(double x, double y, std::string_view text, Anchor anchor, std::string_view kind,
                  double font) {
  if (text.empty()) return;
  raw(fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"hc-{}\" font-size=\"{:g}\" text-anchor=\"{}\">{}</text>", x, y,
      kind, font, name_of_anchor(anchor), escaped(text)));
}

void Canvas::upright_text(double x, double y, std::string_view text) {
  if (text.empty()) return;
  raw(fmt::format(
      "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" class=\"hc-ink\" font-size=\"{:g}\" "
      "text-anchor=\"middle\">{}</text>",
      x, y, kFont, escaped(text)));
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view kind) {
  raw(fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"hc-{}\"/>", x1, y1,
                  x2, y2, kind));
}

void Canvas::rect(double x, double y, double width, double height, std::string_view attributes,
                  std::string_view tip) {
  raw(fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}>{}</rect>", x, y,
                  width, height, attributes, tip_element(tip)));
}

double Canvas::heading(double width) {
  double y = kEdge;
  if (title_.empty()) return y;
  for (const std::string& line : wrapped(title_, width - 2 * kEdge, kTitleFont * kBoldWidth)) {
    y += kTitleFont * (y > kEdge ? kLineHeight : 1);
    text(kEdge, y, line, Anchor::start, "title", kTitleFont);
  }
  return y + 12;
}

double Canvas::legend(double x, double y, double width, const std::vector<Key>& keys) {
  constexpr double kSwatch = 26, kGap = 20;
  double at = x;
  y += kFont;
  for (const Key& key : keys) {
    const std::vector<std::string> lines = wrapped(key.name, width - kSwatch);
    double widest = 0;
    for (const std::string& line : lines) widest = std::max(widest, text_width(line));
    if (at > x && at + kSwatch + widest > x + width) at = x, y += kFont * kLineHeight + 3;
    if (key.line)
      raw(fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}{}/>", at, y - 4,
                      at + 20, y - 4, line_class(key.series), key.dashed ? " stroke-dasharray=\"5 4\"" : ""));
    else
      rect(at + 4, y - 10, 12, 12, fill_class(key.series));
    if (key.marker) raw(marker(key.series, at + 10, y - 4, {}));
    for (const std::string& line : lines) {
      text(at + kSwatch, y, line);
      if (&line != &lines.back()) y += kFont * kLineHeight;
    }
    at += kSwatch + widest + kGap;
  }
  return y + 12;
}

double Canvas::note(double x, double y, double width, std::string_view text) {
  if (text.empty()) return y;
  for (const std::string& line : wrapped(text, width, kNoteFont)) {
    y += kNoteFont * kLineHeight;
    this->text(x, y, line, Anchor::start, "soft", kNoteFont);
  }
  return y + 4;
}

std::string Canvas::file(double width, double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" class=\"hc\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<desc>{3}</desc>\n<style>\n{4}</style>\n"
      "<rect width=\"100%\" height=\"100%\" class=\"hc-page\"/>\n{5}</svg>\n",
      width, height, escaped(title_), escaped(description_), kChartStyle, body_);
}

}  // namespace headroom::chart
