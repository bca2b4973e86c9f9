// Charts of a sweep: accuracy against every axis of numbers, and the losses over the epochs.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "base/text.h"
#include "cli/sweep_report.h"
#include "report/chart.h"

namespace headroom::cli {
namespace {

constexpr std::size_t kMaxLines = 16;  // more are not told apart

std::optional<double> as_number(const std::string& text) {
  try {
    return parse_double(text, "");
  } catch (const Error&) {
    return {};
  }
}

// Axes of numbers with more than one value.
std::vector<GridAxis> number_axes(const std::vector<GridAxis>& axes) {
  std::vector<GridAxis> list;
  for (const GridAxis& axis : axes)
    if (axis.values.size() > 1 &&
        std::ranges::all_of(axis.values, [](const std::string& v) { return as_number(v).has_value(); }))
      list.push_back(axis);
  return list;
}

AxisScale scale_for(const GridAxis& axis) {
  std::vector<double> values;
  for (const std::string& text : axis.values) values.push_back(*as_number(text));
  const auto [low, high] = std::ranges::minmax(values);
  return low > 0 && high / low >= 8 ? AxisScale::log : AxisScale::linear;
}

// One line for each combination of the other settings; the points are means over seeds.
LineChart against(const GridAxis& axis, const Experiment& experiment, const std::vector<SweepRun>& runs,
                  std::optional<double> SweepRun::*field) {
  LineChart chart{.x = {.label = axis.name, .scale = scale_for(axis)}};
  std::map<std::string, std::map<double, std::vector<double>>> lines;
  for (const SweepRun& run : runs) {
    const GridRow& row = experiment.rows()[run.row];
    if (!(run.*field)) continue;
    const std::string others = label_of(without(row, axis.name), varied(experiment.axes()));
    lines[others][*as_number(*value_of(row, axis.name))].push_back(*(run.*field));
  }
  for (const auto& [name, points] : lines) {
    if (chart.series.size() == kMaxLines) {
      chart.note = fmt::format("the first {} of {} lines", kMaxLines, lines.size());
      break;
    }
    LineSeries line{.name = name};
    for (const auto& [x, values] : points) line.points.push_back({x, statistics_of(values).mean});
    chart.series.push_back(std::move(line));
  }
  return chart;
}

LineChart losses(const Experiment& experiment, const std::vector<SweepRun>& runs) {
  LineChart chart{
      .title = "Loss over the epochs", .x = {"epoch"}, .y = {"mean training loss"}, .markers = false};
  for (const SweepRun& run : runs) {
    if (run.curve.epoch_losses.empty()) continue;
    if (chart.series.size() == kMaxLines) {
      chart.note = fmt::format("the first {} of {} runs", kMaxLines, runs.size());
      break;
    }
    LineSeries line{.name = experiment.run_label(run.row, run.seed)};
    for (std::size_t i = 0; i < run.curve.epoch_losses.size(); ++i)
      line.points.push_back({double(i + 1), run.curve.epoch_losses[i]});
    chart.series.push_back(std::move(line));
  }
  return chart;
}

}  // namespace

std::vector<std::string> sweep_chart_names(const std::vector<GridAxis>& axes, bool comparison) {
  std::vector<std::string> names;
  for (const GridAxis& axis : number_axes(axes)) {
    names.push_back("accuracy-" + axis.name);
    if (comparison) names.push_back("error-" + axis.name);
  }
  if (!comparison) names.push_back("loss");
  return names;
}

std::vector<ChartFile> sweep_charts(const Experiment& experiment, const std::vector<SweepRun>& runs,
                                    bool comparison) {
  std::vector<ChartFile> files;
  const std::string what = fmt::format("{} on {}", experiment.setup().net.name, experiment.setup().data);
  for (const GridAxis& axis : number_axes(experiment.axes())) {
    LineChart accuracy = against(axis, experiment, runs, &SweepRun::accuracy);
    accuracy.title = fmt::format("{}: accuracy against {}", what, axis.name);
    accuracy.y = {"test accuracy"};
    files.push_back({"accuracy-" + axis.name, svg(accuracy)});
    if (!comparison) continue;
    LineChart error = against(axis, experiment, runs, &SweepRun::weight_error);
    error.title = fmt::format("{}: drift of the weights against {}", what, axis.name);
    error.y = {.label = "largest relative error of a weight array", .scale = AxisScale::log};
    for (LineSeries& line : error.series)
      for (LineSeries::Point& point : line.points)
        if (point.y <= 0) point.y = std::nan("");  // no error has no place on a log axis
    files.push_back({"error-" + axis.name, svg(error)});
  }
  if (!comparison) files.push_back({"loss", svg(losses(experiment, runs))});
  return files;
}

}  // namespace headroom::cli
