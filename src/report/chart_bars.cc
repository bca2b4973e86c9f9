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

constexpr double kBarEdge = 16, kBar = 17, kCategoryGap = 12, kNameWidth = 250, kNameLine = 15;

bool has_errors(const BarSeries& series) { return !series.low.empty(); }

void require_bars(const BarChart& chart) {
  const std::size_t count = chart.categories.size();
  for (const BarSeries& series : chart.series) {
    if (series.values.size() != count || series.low.size() != series.high.size() ||
        (has_errors(series) && series.low.size() != count))
      fail("the chart '{}' has {} categories, and '{}' has {} values, {} lower and {} upper ends",
           chart.title, count, series.name, series.values.size(), series.low.size(), series.high.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string where = fmt::format("'{}' of '{}'", chart.categories[i], series.name);
      require_drawable(chart.title, chart.axis.scale, series.values[i], where);
      if (!has_errors(series)) continue;
      require_drawable(chart.title, chart.axis.scale, series.low[i], where);
      require_drawable(chart.title, chart.axis.scale, series.high[i], where);
    }
  }
  if (chart.reference)
    require_drawable(chart.title, chart.axis.scale, chart.reference->value, "its reference line");
}

std::vector<double> bar_values(const BarChart& chart) {
  std::vector<double> all;
  for (const BarSeries& series : chart.series)
    for (const auto* list : {&series.values, &series.low, &series.high})
      std::ranges::copy_if(*list, std::back_inserter(all), [](double v) { return !std::isnan(v); });
  return all;
}

std::string bars_in_words(const BarChart& chart) {
  if (!chart.description.empty()) return chart.description;
  std::string text = fmt::format("Bar chart, {}.", axis_title(chart.axis));
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    text += " " + chart.categories[i] + ":";
    for (const BarSeries& series : chart.series)
      text +=
          fmt::format("{}{} {}", &series == chart.series.data() ? "" : ",",
                      chart.series.size() > 1 ? " " + series.name : "",
                      std::isnan(series.values[i]) ? "no value" : number(series.values[i], chart.axis.unit));
    text += ".";
  }
  return text;
}

// Positions of one bar chart. The names are left of the plot, the numbers right of the bars.
class BarPicture {
 public:
  explicit BarPicture(const BarChart& chart)
      : chart_(chart),
        canvas_(chart.title, bars_in_words(chart)),
        values_(bar_values(chart)),
        range_(ranged()) {
    double widest = 0, number_width = 20;
    for (const std::string& category : chart.categories) {
      names_.push_back(wrapped(category, kNameWidth));
      for (const std::string& line : names_.back()) widest = std::max(widest, text_width(line));
    }
    for (double value : values_)
      number_width = std::max(number_width, text_width(number(value, chart.axis.unit)));
    left_ = kBarEdge + widest + 8;
    right_ = kChartWidth - kBarEdge - number_width - 8;
  }

  std::string file() {
    double y = canvas_.heading(kChartWidth);
    if (chart_.series.size() > 1) {
      std::vector<Canvas::Key> keys;
      for (std::size_t s = 0; s < chart_.series.size(); ++s) keys.push_back({chart_.series[s].name, s});
      y = canvas_.legend(kBarEdge, y, kChartWidth - 2 * kBarEdge, keys);
    }
    if (values_.empty()) {
      canvas_.text(kChartWidth / 2, y + 30, "no data", Anchor::middle, "soft");
      y += 50;
    } else {
      y = plot(y);
    }
    y = canvas_.note(kBarEdge, y, kChartWidth - 2 * kBarEdge, chart_.note);
    return canvas_.file(kChartWidth, y + 8);
  }

 private:
  AxisRange ranged() const {
    std::vector<double> values = values_;
    if (chart_.reference) values.push_back(chart_.reference->value);
    return {chart_.axis.scale, values, true};
  }
  double x_of(double value) const { return left_ + range_.position(value) * (right_ - left_); }
  double height_of(std::size_t category) const {
    return std::max(kBar * static_cast<double>(chart_.series.size()),
                    kNameLine * static_cast<double>(names_[category].size()));
  }

  double plot(double top) {
    if (chart_.reference && !chart_.reference->label.empty()) top += 16;
    double bottom = top + kCategoryGap / 2;
    for (std::size_t i = 0; i < names_.size(); ++i) bottom += height_of(i) + kCategoryGap;
    grid(top, bottom);
    double y = top + kCategoryGap;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      category(i, y);
      y += height_of(i) + kCategoryGap;
    }
    const double zero = chart_.axis.scale == AxisScale::linear ? x_of(0) : left_;
    canvas_.line(zero, top, zero, bottom, "axis");
    if (chart_.reference) reference(top, bottom);
    for (const Label& label : labels_) canvas_.text(label.x, label.y, label.text, Anchor::start, "label");
    canvas_.text((left_ + right_) / 2, bottom + 36, axis_title(chart_.axis), Anchor::middle);
    return bottom + 46;
  }

  void grid(double top, double bottom) {
    double free_from = 0;
    for (const Tick& tick : range_.ticks()) {
      const double x = x_of(tick.value);
      canvas_.line(x, top, x, bottom, tick.label.empty() ? "minor" : "grid");
      const double half = text_width(tick.label) / 2;
      if (x - half < free_from) continue;
      canvas_.text(x, bottom + 17, tick.label, Anchor::middle, "soft");
      if (!tick.label.empty()) free_from = x + half + 6;
    }
  }

  void category(std::size_t i, double y) {
    const double height = height_of(i);
    double baseline = y + height / 2 - kNameLine * static_cast<double>(names_[i].size()) / 2 + 11.5;
    for (const std::string& line : names_[i]) {
      canvas_.text(left_ - 8, baseline, line, Anchor::end);
      baseline += kNameLine;
    }
    double at = y + (height - kBar * static_cast<double>(chart_.series.size())) / 2;
    for (std::size_t s = 0; s < chart_.series.size(); ++s, at += kBar) bar(chart_.series[s], s, i, at);
  }

  void bar(const BarSeries& series, std::size_t s, std::size_t i, double y) {
    const double value = series.values[i], middle = y + kBar / 2;
    const double zero = chart_.axis.scale == AxisScale::linear ? x_of(0) : left_;
    if (std::isnan(value)) {
      canvas_.text(zero + 6, middle + 4, "–", Anchor::start, "soft");
      return;
    }
    const std::string label = number(value, chart_.axis.unit);
    const double x = x_of(value);
    canvas_.rect(std::min(x, zero), y + 1, std::abs(x - zero), kBar - 2,
                 fill_class(chart_.series.size() > 1 ? s : 4),
                 fmt::format("{}{}: {}", chart_.categories[i],
                             chart_.series.size() > 1 ? ", " + series.name : "", label));
    double end = std::max(x, zero);
    if (has_errors(series) && !std::isnan(series.low[i]) && !std::isnan(series.high[i])) {
      const double low = x_of(series.low[i]), high = x_of(series.high[i]);
      canvas_.line(low, middle, high, middle, "error");
      for (const double cap : {low, high}) canvas_.line(cap, middle - 4, cap, middle + 4, "error");
      end = std::max(end, high);
    }
    labels_.push_back({end + 6, middle + 4, label});
  }

  void reference(double top, double bottom) {
    const double x = x_of(chart_.reference->value), width = text_width(chart_.reference->label);
    canvas_.line(x, top - 2, x, bottom, "reference");
    const double at = std::clamp(x, kBarEdge + width / 2,
                                 std::max(kBarEdge + width / 2, kChartWidth - kBarEdge - width / 2));
    canvas_.text(at, top - 6, chart_.reference->label, Anchor::middle);
  }

  const BarChart& chart_;
  Canvas canvas_;
  std::vector<double> values_;
  AxisRange range_;
  std::vector<std::vector<std::string>> names_;
  double left_ = 0, right_ = 0;
  struct Label {
    double x, y;
    std::string text;
  };
  std::vector<Label> labels_;  // drawn last: lines pass below them
};

}  // namespace
}  // namespace chart

std::string svg(const BarChart& chart) {
  chart::require_bars(chart);
  return chart::BarPicture(chart).file();
}

}  // namespace headroom
