#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/units.h"
#include "report/series.h"

namespace headroom {
namespace {

constexpr int kRows = 8;   // rows of the plot
constexpr int kAxis = 10;  // columns left of the plot: a number and the axis
constexpr int kUsualWidth = 80, kWidest = 100, kNarrowest = 10;

// The readings that fall into one column of the plot.
struct DrawnColumn {
  double sum = 0, min = 0, max = 0;
  int count = 0;
  void add(double value) {
    min = count == 0 ? value : std::min(min, value);
    max = count == 0 ? value : std::max(max, value);
    sum += value;
    ++count;
  }
};

int plot_width(const TableView& view) {
  const int width = view.width == 0 ? kUsualWidth : std::min(view.width, kWidest);
  return std::max(width - kAxis, kNarrowest);
}

// A reading stands for the time since the one before it, so it fills every column of that time.
std::vector<DrawnColumn> columns_of(const Series& series, const std::vector<double>& seconds, int width) {
  std::vector<DrawnColumn> columns(static_cast<std::size_t>(width));
  const double end = seconds.back();
  // The column that ends at this time or holds it; -1 for the beginning, which ends nothing.
  const auto column_at = [&](double time) {
    return end > 0 ? std::min(static_cast<int>(std::ceil(time / end * width - 1e-9)) - 1, width - 1) : 0;
  };
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (std::isnan(series.values[i])) continue;
    const int last = column_at(seconds[i]);
    // A column in which the one before ends belongs to that one, unless both fall into it.
    const int first = i == 0 ? 0 : std::min(column_at(seconds[i - 1]) + 1, last);
    for (int column = first; column <= last; ++column)
      columns[static_cast<std::size_t>(column)].add(series.values[i]);
  }
  return columns;
}

// The next 1, 2 or 5 times a power of ten: an axis that people can read.
double round_up(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0})
    if (value <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string draw_series(const Series& series, const std::vector<double>& seconds, const TableView& view,
                        std::string end) {
  std::string text = fmt::format("{}, {}\n", series.info.name, series.info.unit);
  if (series.summary.readings == 0 || seconds.empty()) return text + "  no readings\n";
  const int width = plot_width(view);
  const double top = series.info.limit > 0 ? series.info.limit : round_up(series.summary.max);
  const auto row_of = [&](double value) {
    return std::clamp(static_cast<int>(std::lround((1 - value / top) * (kRows - 1))), 0, kRows - 1);
  };
  std::vector<std::string> rows(kRows, std::string(static_cast<std::size_t>(width), ' '));
  const std::vector<DrawnColumn> columns = columns_of(series, seconds, width);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].count == 0) continue;
    for (int row = row_of(columns[c].max); row <= row_of(columns[c].min); ++row)
      rows[static_cast<std::size_t>(row)][c] = ':';
    rows[static_cast<std::size_t>(row_of(columns[c].sum / columns[c].count))][c] = '*';
  }
  for (int row = 0; row < kRows; ++row) {
    const std::string tick = row == 0 ? fmt::format("{:g}", top) : row == kRows - 1 ? "0" : "";
    text += trimmed(fmt::format("{:>8} |{}", tick, rows[static_cast<std::size_t>(row)]));
  }
  if (end.empty()) end = human_seconds(seconds.back());
  text += fmt::format("{:>8} +{}\n", "", std::string(static_cast<std::size_t>(width), '-'));
  return text + fmt::format("{:>10}0{:>{}}\n", "", end, width - 1);
}

}  // namespace headroom
