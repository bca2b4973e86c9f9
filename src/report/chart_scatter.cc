#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart.h"
#include "report/chart_frame.h"

namespace headroom {
namespace chart {
namespace {

constexpr double kScatterEdge = 16;
constexpr double kLargestRadius = 16, kLeastRadius = 3;

void require_points(const ScatterChart& chart) {
  const auto require = [&](double x, double y, const std::string& name) {
    require_drawable(chart.title, chart.x.scale, x, fmt::format("x of '{}'", name));
    require_drawable(chart.title, chart.y.scale, y, fmt::format("y of '{}'", name));
  };
  for (const ScatterChart::Point& point : chart.points) require(point.x, point.y, point.name);
  for (const LineSeries& line : chart.lines)
    for (const LineSeries::Point& point : line.points) require(point.x, point.y, line.name);
}

std::vector<double> places(const ScatterChart& chart, bool of_x) {
  std::vector<double> all;
  for (const ScatterChart::Point& point : chart.points) all.push_back(of_x ? point.x : point.y);
  for (const LineSeries& line : chart.lines)
    for (const LineSeries::Point& point : line.points) all.push_back(of_x ? point.x : point.y);
  return all;
}

std::string points_in_words(const ScatterChart& chart) {
  if (!chart.description.empty()) return chart.description;
  std::string text = fmt::format("Points of {} against {}.", axis_title(chart.y), axis_title(chart.x));
  for (const ScatterChart::Point& point : chart.points)
    text += fmt::format(" {}: {} at {}.", point.name, number(point.y, chart.y.unit),
                        number(point.x, chart.x.unit));
  return text;
}

double radius_of(double size, double largest) {
  return std::max(kLeastRadius, largest > 0 ? kLargestRadius * std::sqrt(size / largest) : 0);
}

class ScatterPicture {
 public:
  explicit ScatterPicture(const ScatterChart& chart)
      : chart_(chart),
        canvas_(chart.title, points_in_words(chart)),
        frame_(chart.x, chart.y, places(chart, true), places(chart, false)) {}

  std::string file() {
    double y = canvas_.heading(kChartWidth);
    std::vector<Canvas::Key> keys;
    for (std::size_t s = 0; s < chart_.series.size(); ++s) keys.push_back({chart_.series[s], s, false, true});
    if (!keys.empty()) y = canvas_.legend(kScatterEdge, y, kChartWidth - 2 * kScatterEdge, keys);
    const double below = frame_.draw(canvas_, y);
    for (const LineSeries& line : chart_.lines) bound(line);
    points();
    for (const LineSeries& line : chart_.lines) name(line);
    y = canvas_.note(kScatterEdge, below, kChartWidth - 2 * kScatterEdge, chart_.note);
    return canvas_.file(kChartWidth, y + 8);
  }

 private:
  void bound(const LineSeries& line) {
    for (std::size_t i = 1; i < line.points.size(); ++i)
      canvas_.line(frame_.x_of(line.points[i - 1].x), frame_.y_of(line.points[i - 1].y),
                   frame_.x_of(line.points[i].x), frame_.y_of(line.points[i].y),
                   line.dashed ? "reference" : "axis");
  }

  void name(const LineSeries& line) {
    if (line.points.empty() || line.name.empty()) return;
    const LineSeries::Point &first = line.points.front(), &last = line.points.back();
    if (first.y == last.y)
      canvas_.text(frame_.x_of(last.x) - 4, frame_.y_of(last.y) - 5, line.name, Anchor::end, "label");
    else
      canvas_.text(frame_.x_of(first.x) + 4, frame_.y_of(first.y) - 8, line.name, Anchor::start, "label");
  }

  // The large ones first, lest they hide the small ones.
  void points() {
    double largest = 0;
    std::vector<const ScatterChart::Point*> order;
    for (const ScatterChart::Point& point : chart_.points)
      order.push_back(&point), largest = std::max(largest, point.size);
    std::ranges::stable_sort(order, std::greater<>{}, &ScatterChart::Point::size);
    for (const ScatterChart::Point* point : order)
      canvas_.raw(fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"hc-f{} hc-mark\" fill-opacity=\"0.8\">"
          "<title>{}</title></circle>",
          frame_.x_of(point->x), frame_.y_of(point->y), radius_of(point->size, largest),
          point->series % kColours,
          escaped(point->tip.empty() ? point->name : point->name + ": " + point->tip)));
  }

  const ScatterChart& chart_;
  Canvas canvas_;
  PlotFrame frame_;
};

}  // namespace
}  // namespace chart

std::string svg(const ScatterChart& chart) {
  chart::require_points(chart);
  return chart::ScatterPicture(chart).file();
}

}  // namespace headroom
