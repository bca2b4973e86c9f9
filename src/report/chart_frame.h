#pragma once

#include <vector>

#include "report/chart.h"
#include "report/chart_axis.h"
#include "report/chart_canvas.h"

namespace headroom::chart {

// The frame of a plot over two axes: grid, ticks and titles, and where a value lies in it.
class PlotFrame {
 public:
  // The ranges hold all the values, which are without NaN.
  PlotFrame(const ChartAxis& x, const ChartAxis& y, const std::vector<double>& xs,
            const std::vector<double>& ys);

  double draw(Canvas& canvas, double top);  // from here down; returns the y below the titles
  double x_of(double value) const;
  double y_of(double value) const;
  double left() const { return left_; }
  double right() const { return right_; }
  double top() const { return top_; }
  double bottom() const { return bottom_; }

 private:
  ChartAxis x_, y_;
  AxisRange across_, up_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
};

}  // namespace headroom::chart
