#include "report/ratio_diff.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/counter_columns.h"

namespace headroom {
namespace {

constexpr double kNoRatio = std::numeric_limits<double>::quiet_NaN();

// One ratio of every kernel: rows by kernel, values by run, NaN where a run lacks it.
struct RatioTable {
  CounterColumn column;
  std::vector<std::pair<std::string, std::vector<double>>> kernels = {};
};

// The values of a ratio by kernel. A program has no plan: its table of counters holds them.
std::vector<std::pair<std::string, Cell>> ratios_in(const RunRecord& record, const CounterColumn& column) {
  std::vector<std::pair<std::string, Cell>> ratios;
  for (const auto& [kernel, counted] : counted_kernels(record))
    ratios.emplace_back(kernel, column.cell(counted));
  for (const Sheet& sheet : record.tables)
    if (sheet.name() == "launch_counters" && sheet.has_column(column.column.key))
      for (std::size_t row = 0; row < sheet.rows(); ++row)
        if (!sheet.is_total(row))
          ratios.emplace_back(std::get<std::string>(sheet.at(row, "kernel")),
                              sheet.at(row, column.column.key));
  return ratios;
}

std::vector<RatioTable> ratio_tables(const std::vector<RecordedRun>& runs) {
  std::vector<RatioTable> tables;
  for (CounterColumn& column : gpu_ratio_columns()) {
    RatioTable table{std::move(column)};
    for (std::size_t r = 0; r < runs.size(); ++r)
      for (const auto& [kernel, cell] : ratios_in(runs[r].record, table.column)) {
        if (!std::holds_alternative<double>(cell)) continue;
        auto row = std::ranges::find(table.kernels, kernel, [](const auto& k) { return k.first; });
        if (row == table.kernels.end())
          row = table.kernels.insert(row, {kernel, std::vector<double>(runs.size(), kNoRatio)});
        row->second[r] = std::get<double>(cell);
      }
    if (!table.kernels.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

Sheet ratios_sheet(const std::vector<RecordedRun>& runs) {
  const std::vector<RatioTable> tables = ratio_tables(runs);
  if (tables.empty()) return {};
  std::vector<Column> columns = {{.key = "kernel", .title = "operator and kernel"},
                                 {.key = "ratio", .title = "ratio", .left = true}};
  for (const RecordedRun& run : runs)
    columns.push_back({.key = run.name, .title = run.name, .format = Column::Format::thousandths});
  Sheet sheet("ratios", columns);
  for (const RatioTable& table : tables)
    for (const auto& [kernel, values] : table.kernels) {
      std::vector<Cell> cells = {kernel, table.column.column.title};
      for (const double value : values) cells.push_back(std::isnan(value) ? Cell() : Cell(value));
      sheet.row(std::move(cells));
    }
  return sheet;
}

std::vector<RatioChart> ratio_charts(const std::vector<RecordedRun>& runs) {
  std::vector<RatioChart> charts;
  for (const RatioTable& table : ratio_tables(runs)) {
    const Column& column = table.column.column;
    RatioChart chart{column.key, {.title = column.title, .axis = {.label = column.title, .shows = {0}}}};
    for (const RecordedRun& run : runs) chart.chart.series.push_back({.name = run.name});
    for (const auto& [kernel, values] : table.kernels) {
      chart.chart.categories.push_back(kernel);
      for (std::size_t r = 0; r < runs.size(); ++r) chart.chart.series[r].values.push_back(values[r]);
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace headroom
