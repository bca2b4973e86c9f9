#include "report/chart_frame.h"

#include <algorithm>

namespace headroom::chart {
namespace {

constexpr double kFrameEdge = 16, kPlotHeight = 360;
constexpr double kInset = 8;  // keeps markers at the ends of an axis inside the frame

std::vector<double> together(std::vector<double> values, const std::vector<double>& others) {
  values.insert(values.end(), others.begin(), others.end());
  return values;
}

}  // namespace

PlotFrame::PlotFrame(const ChartAxis& x, const ChartAxis& y, const std::vector<double>& xs,
                     const std::vector<double>& ys)
    : x_(x),
      y_(y),
      across_(x.scale, together(xs, x.shows), false),
      up_(y.scale, together(ys, y.shows), false) {
  double widest = 0;
  for (const Tick& tick : up_.ticks()) widest = std::max(widest, text_width(tick.label));
  left_ = kFrameEdge + (axis_title(y).empty() ? 0 : 20) + widest + 8;
  right_ = kChartWidth - kFrameEdge - 8;
}

double PlotFrame::x_of(double value) const {
  return left_ + kInset + across_.position(value) * (right_ - left_ - 2 * kInset);
}

double PlotFrame::y_of(double value) const {
  return bottom_ - kInset - up_.position(value) * (bottom_ - top_ - 2 * kInset);
}

double PlotFrame::draw(Canvas& canvas, double top) {
  top_ = top, bottom_ = top + kPlotHeight;
  double free_from = 0;
  for (const Tick& tick : across_.ticks()) {
    const double x = x_of(tick.value), half = text_width(tick.label) / 2;
    canvas.line(x, top_, x, bottom_, tick.label.empty() ? "minor" : "grid");
    if (tick.label.empty() || x - half < free_from) continue;
    canvas.text(std::min(x, kChartWidth - 4 - half), bottom_ + 17, tick.label, Anchor::middle, "soft");
    free_from = x + half + 6;
  }
  double free_below = bottom_ + 20;
  for (const Tick& tick : up_.ticks()) {
    const double y = y_of(tick.value);
    canvas.line(left_, y, right_, y, tick.label.empty() ? "minor" : "grid");
    if (tick.label.empty() || y > free_below) continue;
    canvas.text(left_ - 6, y + 4, tick.label, Anchor::end, "soft");
    free_below = y - 14;
  }
  canvas.line(left_, top_, left_, bottom_, "axis");
  canvas.line(left_, bottom_, right_, bottom_, "axis");
  canvas.text((left_ + right_) / 2, bottom_ + 36, axis_title(x_), Anchor::middle);
  canvas.upright_text(kFrameEdge + 10, (top_ + bottom_) / 2, axis_title(y_));
  return bottom_ + 46;
}

}  // namespace headroom::chart
