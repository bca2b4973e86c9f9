#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/chart.h"
#include "report/chart_axis.h"
#include "report/chart_canvas.h"

namespace headroom {
namespace chart {
namespace {

constexpr double kLineEdge = 16, kPlotHeight = 360;
constexpr double kInset = 8;        // keeps markers at the ends of an axis inside the frame
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
        across_(chart.x.scale, coordinates(chart, true), false),
        up_(chart.y.scale, coordinates(chart, false), false) {
    double widest = 0;
    for (const Tick& tick : up_.ticks()) widest = std::max(widest, text_width(tick.label));
    left_ = kLineEdge + (axis_title(chart.y).empty() ? 0 : 20) + widest + 8;
    right_ = kChartWidth - kLineEdge - 8;
  }

  std::string file() {
    double y = canvas_.heading(kChartWidth);
    std::vector<Canvas::Key> keys;
    for (std::size_t s = 0; s < chart_.series.size(); ++s)
      keys.push_back({chart_.series[s].name, s, true, chart_.markers, dashed(s)});
    if (keys.size() > 1 || (keys.size() == 1 && !keys[0].name.empty()))
      y = canvas_.legend(kLineEdge, y, kChartWidth - 2 * kLineEdge, keys);
    top_ = y;
    bottom_ = y + kPlotHeight;
    axes();
    if (coordinates(chart_, true).empty())
      canvas_.text((left_ + right_) / 2, (top_ + bottom_) / 2, "no data", Anchor::middle, "soft");
    for (std::size_t s = 0; s < chart_.series.size(); ++s) curve(s);
    for (std::size_t s = 0; s < chart_.series.size() && chart_.markers; ++s) marks(s);
    reference_label();
    y = canvas_.note(kLineEdge, bottom_ + 46, kChartWidth - 2 * kLineEdge, chart_.note);
    return canvas_.file(kChartWidth, y + 8);
  }

 private:
  // Colours repeat after eight series; then a dash tells them apart.
  bool dashed(std::size_t s) const { return chart_.series[s].dashed != (s / kColours % 2 == 1); }
  double x_of(double value) const {
    return left_ + kInset + across_.position(value) * (right_ - left_ - 2 * kInset);
  }
  double y_of(double value) const {
    return bottom_ - kInset - up_.position(value) * (bottom_ - top_ - 2 * kInset);
  }

  void axes() {
    double free_from = 0;
    for (const Tick& tick : across_.ticks()) {
      const double x = x_of(tick.value), half = text_width(tick.label) / 2;
      canvas_.line(x, top_, x, bottom_, tick.label.empty() ? "minor" : "grid");
      if (tick.label.empty() || x - half < free_from) continue;
      canvas_.text(std::min(x, kChartWidth - 4 - half), bottom_ + 17, tick.label, Anchor::middle, "soft");
      free_from = x + half + 6;
    }
    double free_below = bottom_ + 20;
    for (const Tick& tick : up_.ticks()) {
      const double y = y_of(tick.value);
      canvas_.line(left_, y, right_, y, tick.label.empty() ? "minor" : "grid");
      if (tick.label.empty() || y > free_below) continue;
      canvas_.text(left_ - 6, y + 4, tick.label, Anchor::end, "soft");
      free_below = y - 14;
    }
    canvas_.line(left_, top_, left_, bottom_, "axis");
    canvas_.line(left_, bottom_, right_, bottom_, "axis");
    canvas_.text((left_ + right_) / 2, bottom_ + 36, axis_title(chart_.x), Anchor::middle);
    canvas_.upright_text(kLineEdge + 10, (top_ + bottom_) / 2, axis_title(chart_.y));
    if (!chart_.reference) return;
    const double y = y_of(chart_.reference->value);
    canvas_.line(left_, y, right_, y, "reference");
  }

  // After the curves, so that its letters lie above them.
  void reference_label() {
    if (!chart_.reference) return;
    const double y = y_of(chart_.reference->value);
    canvas_.text(left_ + 6, y < top_ + 20 ? y + 14 : y - 5, chart_.reference->label, Anchor::start, "label");
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
        piece += fmt::format("{}{:.1f},{:.1f}", piece.empty() ? "" : " ", x_of(point.x), y_of(point.y));
    }
    draw();
  }

  void marks(std::size_t s) {
    for (const LineSeries::Point& point : chart_.series[s].points)
      if (!is_gap(point))
        canvas_.raw(marker(s, x_of(point.x), y_of(point.y),
                           fmt::format("{}: {} at {}", chart_.series[s].name, number(point.y, chart_.y.unit),
                                       number(point.x, chart_.x.unit))));
  }

  const LineChart& chart_;
  Canvas canvas_;
  AxisRange across_, up_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
};

}  // namespace
}  // namespace chart

std::string svg(const LineChart& chart) {
  chart::require_lines(chart);
  return chart::LinePicture(chart).file();
}

}  // namespace headroom
