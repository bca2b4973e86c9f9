#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/chart.h"
#include "report/chart_frame.h"

namespace headroom {
namespace chart {
namespace {

constexpr double kLineEdge = 16;
constexpr std::size_t kYellow = 3;  // hard to see on white: it gets a dark rim

bool is_gap(const LineSeries::Point& point) { return std::isnan(point.x) || std::isnan(point.y); }

void require_lines(const LineChart& chart) {
  for (const LineSeries& series : chart.series)
    for (const LineSeries::Point& point : series.points) {
      require_drawable(chart.title, chart.x.scale, point.x,
                       fmt::format("a place on the x axis of '{}'", series.name));
      require_drawable(chart.title, chart.y.scale, point.y,
                       fmt::format("'{}' at {}", series.name, number(point.x, chart.x.unit)));
    }
  if (chart.reference)
    require_drawable(chart.title, chart.y.scale, chart.reference->value, "its reference line");
}

std::vector<double> coordinates(const LineChart& chart, bool of_x) {
  std::vector<double> all;
  for (const LineSeries& series : chart.series)
    for (const LineSeries::Point& point : series.points)
      if (!is_gap(point)) all.push_back(of_x ? point.x : point.y);
  if (!of_x && chart.reference && !all.empty()) all.push_back(chart.reference->value);
  return all;
}

std::string lines_in_words(const LineChart& chart) {
  if (!chart.description.empty()) return chart.description;
  std::string text = fmt::format("Line chart of {} against {}.", axis_title(chart.y), axis_title(chart.x));
  for (const LineSeries& series : chart.series) {
    text += " " + series.name + ":";
    for (const LineSeries::Point& point : series.points)
      if (!is_gap(point))
        text += fmt::format(" {} at {};", number(point.y, chart.y.unit), number(point.x, chart.x.unit));
    text.back() = '.';
  }
  return text;
}

class LinePicture {
 public:
  explicit LinePicture(const LineChart& chart)
      : chart_(chart),
        canvas_(chart.title, lines_in_words(chart)),
        frame_(chart.x, chart.y, coordinates(chart, true), coordinates(chart, false)) {}

  std::string file() {
    double y = canvas_.heading(kChartWidth);
    std::vector<Canvas::Key> keys;
    for (std::size_t s = 0; s < chart_.series.size(); ++s)
      keys.push_back({chart_.series[s].name, s, true, chart_.markers, dashed(s)});
    if (keys.size() > 1 || (keys.size() == 1 && !keys[0].name.empty()))
      y = canvas_.legend(kLineEdge, y, kChartWidth - 2 * kLineEdge, keys);
    const double below = frame_.draw(canvas_, y);
    if (chart_.reference) {
      const double at = frame_.y_of(chart_.reference->value);
      canvas_.line(frame_.left(), at, frame_.right(), at, "reference");
    }
    if (coordinates(chart_, true).empty())
      canvas_.text((frame_.left() + frame_.right()) / 2, (frame_.top() + frame_.bottom()) / 2, "no data",
                   Anchor::middle, "soft");
    for (std::size_t s = 0; s < chart_.series.size(); ++s) curve(s);
    for (std::size_t s = 0; s < chart_.series.size() && chart_.markers; ++s) marks(s);
    reference_label();
    y = canvas_.note(kLineEdge, below, kChartWidth - 2 * kLineEdge, chart_.note);
    return canvas_.file(kChartWidth, y + 8);
  }

 private:
  // Colours repeat after eight series; then a dash tells them apart.
  bool dashed(std::size_t s) const { return chart_.series[s].dashed != (s / kColours % 2 == 1); }

  // After the curves, so that its letters lie above them.
  void reference_label() {
    if (!chart_.reference) return;
    const double y = frame_.y_of(chart_.reference->value);
    canvas_.text(frame_.left() + 6, y < frame_.top() + 20 ? y + 14 : y - 5, chart_.reference->label,
                 Anchor::start, "label");
  }

  // A gap ends a piece of the line; the next point begins another.
  void curve(std::size_t s) {
    std::string piece;
    const auto draw = [&] {
      const char* dash = dashed(s) ? " stroke-dasharray=\"5 4\"" : "";
      if (piece.find(' ') != std::string::npos) {
        if (s % kColours == kYellow)
          canvas_.raw(fmt::format("<polyline points=\"{}\" class=\"hc-casing\"{}/>", piece, dash));
        canvas_.raw(fmt::format("<polyline points=\"{}\" {}{}/>", piece, line_class(s), dash));
      }
      piece.clear();
    };
    for (const LineSeries::Point& point : chart_.series[s].points) {
      if (is_gap(point))
        draw();
      else
        piece += fmt::format("{}{:.1f},{:.1f}", piece.empty() ? "" : " ", frame_.x_of(point.x),
                             frame_.y_of(point.y));
    }
    draw();
  }

  void marks(std::size_t s) {
    for (const LineSeries::Point& point : chart_.series[s].points)
      if (!is_gap(point))
        canvas_.raw(marker(s, frame_.x_of(point.x), frame_.y_of(point.y),
                           fmt::format("{}: {} at {}", chart_.series[s].name, number(point.y, chart_.y.unit),
                                       number(point.x, chart_.x.unit))));
  }

  const LineChart& chart_;
  Canvas canvas_;
  PlotFrame frame_;
};

}  // namespace
}  // namespace chart

std::string svg(const LineChart& chart) {
  chart::require_lines(chart);
  return chart::LinePicture(chart).file();
}

}  // namespace headroom
