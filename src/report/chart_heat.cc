#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "report/chart.h"
#include "report/chart_axis.h"
#include "report/chart_canvas.h"

namespace headroom {
namespace chart {
namespace {

constexpr double kHeatEdge = 16, kCellHeight = 30, kHeadLine = 15;
constexpr double kLeastCell = 40, kWidestCell = 84, kRowNameWidth = 220;

struct Rgb {
  double red, green, blue;
};

// Cividis: dark blue to yellow, evenly brighter, the same for colour-blind readers.
Rgb colour_at(double share) {
  static constexpr std::array<Rgb, 6> kStops = {
      {{0, 34, 78}, {53, 69, 108}, {102, 105, 112}, {148, 142, 119}, {200, 184, 102}, {254, 232, 56}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(low);
  const auto mixed = [&](double a, double b) { return a + (b - a) * part; };
  return {mixed(kStops[low].red, kStops[low + 1].red), mixed(kStops[low].green, kStops[low + 1].green),
          mixed(kStops[low].blue, kStops[low + 1].blue)};
}

std::string fill_of(const Rgb& c) {
  return fmt::format("fill=\"#{:02x}{:02x}{:02x}\"", static_cast<int>(std::lround(c.red)),
                     static_cast<int>(std::lround(c.green)), static_cast<int>(std::lround(c.blue)));
}

const char* readable_on(const Rgb& c) {
  return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue > 125 ? "#000000" : "#ffffff";
}

class HeatPicture {
 public:
  explicit HeatPicture(const HeatMap& chart) : chart_(chart) {
    for (std::size_t i = 0; i < chart.values.size(); ++i) {
      const double value = chart.values[i];
      if (std::isnan(value)) continue;
      if (!known_) low_ = high_ = value, low_at_ = high_at_ = i, known_ = true;
      if (value < low_) low_ = value, low_at_ = i;
      if (value > high_) high_ = value, high_at_ = i;
    }
  }

  std::string file() {
    measure();
    Canvas canvas(chart_.title, in_words());
    double y = canvas.heading(width_);
    y = known_ ? grid(canvas, y) : nothing(canvas, y);
    if (known_) y = scale(canvas, y);
    if (known_ && has_missing()) y = canvas.note(kHeatEdge, y, width_ - 2 * kHeatEdge, "– " + chart_.missing);
    y = canvas.note(kHeatEdge, y, width_ - 2 * kHeatEdge, chart_.note);
    return canvas.file(width_, y + 8);
  }

 private:
  bool has_missing() const {
    return std::ranges::any_of(chart_.values, [](double value) { return std::isnan(value); });
  }
  bool is_best(std::size_t i) const {
    return known_ && ((chart_.best == HeatMap::Best::lowest && i == low_at_) ||
                      (chart_.best == HeatMap::Best::highest && i == high_at_));
  }
  std::string cell_name(std::size_t i) const {
    return chart_.rows[i / chart_.columns.size()] + ", " + chart_.columns[i % chart_.columns.size()];
  }
  double share_of(double value) const {
    if (high_ <= low_) return 0.5;
    if (chart_.colours == AxisScale::log) return std::log(value / low_) / std::log(high_ / low_);
    return (value - low_) / (high_ - low_);
  }

  std::string in_words() const {
    if (!chart_.description.empty()) return chart_.description;
    if (!known_) return "Heat map without data.";
    return fmt::format("Heat map of {} by {}: from {} ({}) to {} ({}).", chart_.row_label,
                       chart_.column_label, number(low_, chart_.unit), cell_name(low_at_),
                       number(high_, chart_.unit), cell_name(high_at_));
  }

  // The widths of cells and names; the picture grows with the number of columns.
  void measure() {
    double names = text_width(chart_.row_label);
    for (const std::string& row : chart_.rows) {
      row_names_.push_back(wrapped(row, kRowNameWidth));
      for (const std::string& line : row_names_.back()) names = std::max(names, text_width(line));
    }
    left_ = kHeatEdge + std::min(names, kRowNameWidth) + 8;
    cell_ = kLeastCell;
    for (double value : chart_.values)
      if (!std::isnan(value)) cell_ = std::max(cell_, text_width(number(value)) + 10);
    for (const std::string& column : chart_.columns)
      cell_ = std::max(cell_, std::min(kWidestCell, text_width(column) + 10));
    const auto columns = static_cast<double>(std::max<std::size_t>(chart_.columns.size(), 1));
    cell_ = std::max(cell_, std::min(90.0, (kChartWidth - left_ - kHeatEdge) / columns));
    width_ = std::max(kChartWidth, left_ + cell_ * columns + kHeatEdge);
  }

  double nothing(Canvas& canvas, double y) const {
    canvas.text(width_ / 2, y + 30, "no data", Anchor::middle, "soft");
    return y + 50;
  }

  double grid(Canvas& canvas, double y) {
    const auto columns = static_cast<double>(chart_.columns.size());
    canvas.text(left_ + cell_ * columns / 2, y + kFont, chart_.column_label, Anchor::middle, "soft");
    y += chart_.column_label.empty() ? 0 : 20;
    std::size_t most_lines = 1;
    std::vector<std::vector<std::string>> heads;
    for (const std::string& column : chart_.columns) {
      heads.push_back(wrapped(column, cell_ - 6));
      most_lines = std::max(most_lines, heads.back().size());
    }
    y += kHeadLine * static_cast<double>(most_lines);
    for (std::size_t c = 0; c < heads.size(); ++c)
      for (std::size_t l = 0; l < heads[c].size(); ++l)
        canvas.text(left_ + cell_ * (static_cast<double>(c) + 0.5),
                    y - kHeadLine * static_cast<double>(heads[c].size() - 1 - l), heads[c][l],
                    Anchor::middle);
    canvas.text(left_ - 8, y, chart_.row_label, Anchor::end, "soft");
    y += 6;
    for (std::size_t r = 0; r < chart_.rows.size(); ++r) y = row(canvas, r, y);
    frame_best(canvas);
    return y + 10;
  }

  double row(Canvas& canvas, std::size_t r, double y) {
    const auto lines = static_cast<double>(row_names_[r].size());
    const double height = std::max(kCellHeight, kHeadLine * lines + 4);
    double baseline = y + height / 2 - kHeadLine * lines / 2 + 11.5;
    for (const std::string& line : row_names_[r]) {
      canvas.text(left_ - 8, baseline, line, Anchor::end);
      baseline += kHeadLine;
    }
    for (std::size_t c = 0; c < chart_.columns.size(); ++c)
      draw_cell(canvas, r * chart_.columns.size() + c, left_ + cell_ * static_cast<double>(c), y, height);
    return y + height;
  }

  void draw_cell(Canvas& canvas, std::size_t i, double x, double y, double height) {
    const double value = chart_.values[i], middle = y + height / 2 + 4;
    if (is_best(i)) best_x_ = x, best_y_ = y, best_height_ = height;
    if (std::isnan(value)) {
      canvas.rect(x + 1, y + 1, cell_ - 2, height - 2, "class=\"hc-missing\"",
                  cell_name(i) + ": " + chart_.missing);
      canvas.text(x + cell_ / 2, middle, "–", Anchor::middle, "soft");
      return;
    }
    const Rgb colour = colour_at(share_of(value));
    canvas.rect(x + 1, y + 1, cell_ - 2, height - 2, fill_of(colour),
                cell_name(i) + ": " + number(value, chart_.unit));
    canvas.raw(fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" font-size=\"{:g}\" text-anchor=\"middle\">{}</text>",
        x + cell_ / 2, middle, readable_on(colour), kFont, escaped(number(value))));
  }

  void frame_best(Canvas& canvas) const {
    if (chart_.best == HeatMap::Best::none) return;
    canvas.rect(best_x_ + 1, best_y_ + 1, cell_ - 2, best_height_ - 2, "class=\"hc-best\"");
  }

  double scale(Canvas& canvas, double y) const {
    constexpr int kSteps = 48;
    constexpr double kStepWidth = 4;
    const std::string low = number(low_, chart_.unit), high = number(high_, chart_.unit);
    double x = kHeatEdge;
    canvas.text(x, y + 11, low, Anchor::start, "soft");
    x += text_width(low) + 6;
    for (int i = 0; i < kSteps; ++i)
      canvas.rect(x + i * kStepWidth, y, kStepWidth + 0.5, 14, fill_of(colour_at((i + 0.5) / kSteps)));
    x += kSteps * kStepWidth + 6;
    std::string text = high;
    if (chart_.colours == AxisScale::log) text += " (log scale)";
    if (chart_.best != HeatMap::Best::none)
      text += chart_.best == HeatMap::Best::lowest ? "; framed: the lowest" : "; framed: the highest";
    canvas.text(x, y + 11, text, Anchor::start, "soft");
    return y + 20;
  }

  const HeatMap& chart_;
  bool known_ = false;
  double low_ = 0, high_ = 0;
  std::size_t low_at_ = 0, high_at_ = 0;
  std::vector<std::vector<std::string>> row_names_;
  double left_ = 0, cell_ = 0, width_ = 0;
  double best_x_ = 0, best_y_ = 0, best_height_ = 0;
};

void require_cells(const HeatMap& chart) {
  if (chart.values.size() != chart.rows.size() * chart.columns.size())
    fail("the heat map '{}' has {} rows, {} columns and {} values", chart.title, chart.rows.size(),
         chart.columns.size(), chart.values.size());
  for (std::size_t i = 0; i < chart.values.size(); ++i)
    require_drawable(chart.title, chart.colours, chart.values[i],
                     fmt::format("'{}' at '{}'", chart.columns[i % chart.columns.size()],
                                 chart.rows[i / chart.columns.size()]));
}

}  // namespace
}  // namespace chart

std::string svg(const HeatMap& chart) {
  chart::require_cells(chart);
  return chart::HeatPicture(chart).file();
}

}  // namespace headroom
