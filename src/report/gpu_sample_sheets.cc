#include "report/gpu_sample_sheets.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

std::vector<Column> use_columns() {
  using enum Column::Format;
  return {{.key = "sm_percent", .title = "SM %", .unit = "%", .format = tenths},
          {.key = "tensor_percent", .title = "tensor %", .unit = "%", .format = tenths},
          {.key = "l2_percent", .title = "L2 %", .unit = "%", .format = tenths},
          {.key = "dram_percent", .title = "DRAM %", .unit = "%", .format = tenths},
          {.key = "dram_gbytes_per_s", .title = "DRAM GB/s", .unit = "GB/s", .format = tenths}};
}

void append_use(std::vector<Cell>& cells, const UnitUse& use) {
  for (const double value : {use.sm, use.tensor, use.l2, use.dram, use.dram_bytes_per_s / 1e9})
    cells.emplace_back(value);
}

// The part of its time that a step would need at the peaks of the machine; empty if they are unknown.
struct PlannedUse {
  Cell operations, memory;
};
PlannedUse planned_use(const RunRecord& record, double step_s) {
  if (!record.plan || !record.machine || record.machine->levels.empty() || !(step_s > 0)) return {};
  double operations_s = 0, bytes = 0;
  for (const RecordedStep& step : record.plan->steps)
    for (const RecordedStep::Launch& launch : step.launches) {
      const auto peak = record.machine->peak_flops.find(launch.unit);
      if (peak != record.machine->peak_flops.end()) operations_s += launch.flops / peak->second;
      bytes += launch.bytes;
    }
  const double rate = record.machine->memory().bytes_per_s;
  return {Cell(100 * operations_s / step_s), rate > 0 ? Cell(100 * bytes / rate / step_s) : Cell()};
}

}  // namespace

const Sheet* find_table(const RunRecord& record, std::string_view name) {
  const auto it = std::ranges::find(record.tables, name, &Sheet::name);
  return it == record.tables.end() ? nullptr : &*it;
}

Sheet sampled_layers_sheet(const SampledStep& step) {
  using enum Column::Format;
  std::vector<Column> columns = {{.key = "layer", .title = "layer"},
                                 {.key = "ms", .title = "ms", .unit = "ms"}};
  std::ranges::copy(use_columns(), std::back_inserter(columns));
  columns.push_back({.key = "alone_percent", .title = "alone %", .unit = "%", .format = tenths});
  Sheet sheet{std::string(kSampledLayers), columns};
  const double runs = double(std::max<std::size_t>(1, step.runs));
  for (const auto& [name, use] : step.layers) {
    std::vector<Cell> cells = {name, 1e3 * use.seconds / runs};
    append_use(cells, use.mean);
    cells.push_back(use.seconds > 0 && use.alone_s > 0 ? Cell(100 * use.alone_s / use.seconds) : Cell());
    sheet.row(std::move(cells));
  }
  std::vector<Cell> all = {std::string("step"), 1e3 * step.all.seconds / runs};
  append_use(all, step.all.mean);
  all.emplace_back();
  sheet.total(std::move(all));
  return sheet;
}

Sheet sampled_step_sheet(const SampledStep& step) {
  std::vector<Column> columns = {{.key = "begin_ms", .title = "ms", .unit = "ms"}};
  std::ranges::copy(use_columns(), std::back_inserter(columns));
  Sheet sheet{std::string(kSampledStep), columns};
  for (const RunPoint& point : step.points) {
    std::vector<Cell> cells = {1e3 * point.begin_s};
    append_use(cells, point.use);
    sheet.row(std::move(cells));
  }
  return sheet;
}

LineChart sampled_step_chart(const Sheet& sheet) {
  LineChart chart{.title = "The GPU over one step",
                  .x = {.label = "time", .unit = "ms"},
                  .y = {.label = "busy", .unit = "%", .shows = {0, 100}},
                  .markers = false};
  for (const auto& [key, name] : {std::pair("sm_percent", "multiprocessors"),
                                  {"tensor_percent", "tensor cores"},
                                  {"l2_percent", "L2 cache"},
                                  {"dram_percent", "DRAM"}}) {
    if (!sheet.has_column("begin_ms") || !sheet.has_column(key)) continue;  // files are read from anywhere
    LineSeries series{.name = name};
    for (std::size_t row = 0; row < sheet.rows(); ++row) {
      const double* x = std::get_if<double>(&sheet.at(row, "begin_ms"));
      const double* y = std::get_if<double>(&sheet.at(row, key));
      if (x != nullptr && y != nullptr) series.points.push_back({*x, *y});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Sheet gpu_use_sheet(const GpmUse& use, double step_s, const RunRecord& record) {
  using enum Column::Format;
  Sheet sheet(std::string(kGpuUse),
              {{.key = "what", .title = "the whole step"},
               {.key = "nvml_percent", .title = "NVML %", .unit = "%", .format = tenths},
               {.key = "plan_percent", .title = "plan %", .unit = "%", .format = tenths}});
  const auto told = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
  const PlannedUse planned = planned_use(record, step_s);
  sheet.row({std::string("multiprocessors with work"), told(use.sm), Cell()});
  sheet.row({std::string("resident warps"), told(use.occupancy), Cell()});
  sheet.row({std::string("tensor cores busy"), told(use.tensor), Cell()});
  sheet.row({std::string("operations at the peak rate"), Cell(), planned.operations});
  sheet.row({std::string("memory bandwidth"), told(use.dram), planned.memory});
  return sheet;
}

}  // namespace headroom
