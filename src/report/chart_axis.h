#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace headroom::chart {

struct Tick {
  double value = 0;
  std::string label = {};  // empty: a minor tick
};

// A range of values with readable ends, and its ticks.
class AxisRange {
 public:
  // `values` without NaN. `from_zero`: a linear range begins at 0 and a log range below the least value, as
  // bars need it.
  AxisRange(AxisScale scale, const std::vector<double>& values, bool from_zero);

  double low() const { return low_; }
  double high() const { return high_; }
  double position(double value) const;  // 0 at the low end, 1 at the high end
  std::vector<Tick> ticks() const;      // in order

 private:
  void widen_linear(bool from_zero);
  void widen_log(bool from_zero);
  std::vector<Tick> linear_ticks() const;
  std::vector<Tick> log_ticks() const;

  AxisScale scale_;
  double low_ = 0, high_ = 1, step_ = 0.2;
};

// Rejects an infinite value, and on a log axis a value that is not above 0. `where` names the value: "'GPU'
// at 'naive'".
void require_drawable(const std::string& title, AxisScale scale, double value, const std::string& where);

std::string number(double value);  // three digits: 12.3, 1,230, 4.57 M, 1.2×10⁻⁵
std::string number(double value, const std::string& unit);
std::string axis_title(const ChartAxis& axis);  // "time, ms (log scale)"

}  // namespace headroom::chart
