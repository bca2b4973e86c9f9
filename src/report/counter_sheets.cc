#include "report/counter_sheets.h"

#include <algorithm>

#include "profile/counter_recorder.h"

namespace headroom {
namespace {

constexpr double kLineBytes = 64;
using Values = std::vector<double>;

std::vector<CounterColumn> cpu_counter_columns() {
  using F = Column::Format;
  return {plain_column("task-clock", "core_ms", "core ms", 1e-6, F::ten_thousandths),
          {{.key = "cores_busy", .title = "cores busy", .format = F::hundredths},
           {"task-clock", CounterRecorder::kTime},
           [](const Values& v, const Counted&) { return ratio_of(1e-9 * v[0], v[1]); }},
          plain_column("page-faults", "page_faults", "faults", 1, F::tenths),
          plain_column("context-switches", "context_switches", "switches", 1, F::tenths),
          plain_column("cpu-migrations", "cpu_migrations", "migrations", 1, F::tenths),
          plain_column("instructions", "instructions", "instructions", 1, F::si),
          plain_column("cycles", "cycles", "cycles", 1, F::si),
          {{.key = "instructions_per_cycle", .title = "per cycle", .format = F::hundredths},
           {"instructions", "cycles"},
           [](const Values& v, const Counted&) { return ratio_of(v[0], v[1]); }},
          plain_column("branches", "branches", "branches", 1, F::si),
          {{.key = "branch_miss_percent", .title = "mispredicted %", .format = F::hundredths},
           {"branch-misses", "branches"},
           [](const Values& v, const Counted&) { return ratio_of(v[0], v[1], 100); }},
          plain_column("cache-references", "cache_references", "cache accesses", 1, F::si),
          {{.key = "cache_miss_percent", .title = "missed %", .format = F::tenths},
           {"cache-misses", "cache-references"},
           [](const Values& v, const Counted&) { return ratio_of(v[0], v[1], 100); }},
          plain_column("cache-misses", "memory_mb", "MB read", kLineBytes * 1e-6, F::hundredths),
          {{.key = "least_mb", .title = "MB at least", .format = F::hundredths},
           {"cache-misses"},
           [](const Values&, const Counted& c) { return Cell(1e-6 * c.bytes); }}};
}

// The counters of a GPU have a pass in their names.
bool counts_on_gpu(const CountedRows& rows) {
  return !rows.empty() && rows[0].second.counters.begin()->first.find(':') != std::string::npos;
}

}  // namespace

Sheet counters_sheet(const char* name, Column first, const CountedRows& rows, RowsAddUp add_up) {
  std::vector<Column> columns = {std::move(first)};
  std::vector<CounterColumn> shown;
  std::vector<CounterColumn> known = counts_on_gpu(rows) ? gpu_counter_columns() : cpu_counter_columns();
  if (counts_on_gpu(rows)) std::ranges::copy(metric_columns(rows), std::back_inserter(known));
  for (CounterColumn& c : known)
    if (std::ranges::any_of(rows, [&](const auto& row) { return row.second.together(c.needs).has_value(); }))
      columns.push_back(c.column), shown.push_back(std::move(c));
  if (shown.empty()) return {};
  Sheet sheet(name, columns);
  Counted all;
  const auto cells_of = [&](const std::string& what, const Counted& counted) {
    std::vector<Cell> cells = {what};
    for (const CounterColumn& c : shown) cells.push_back(c.cell(counted));
    return cells;
  };
  for (const auto& [what, counted] : rows) {
    sheet.row(cells_of(what, counted));
    all.add(counted);
  }
  if (add_up == RowsAddUp::yes) sheet.total(cells_of("all", all));
  return sheet;
}

Sheet layer_counters_sheet(const RunRecord& record) {
  return counters_sheet("layer_counters", {.key = "layer", .title = "layer"}, counted_layers(record));
}

Sheet kernel_counters_sheet(const RunRecord& record) {
  return counters_sheet("kernel_counters", {.key = "kernel", .title = "operator and kernel"},
                        counted_kernels(record));
}

Sheet launch_counters_sheet(const RunRecord& record) {
  return counters_sheet("launch_counters", {.key = "kernel", .title = "kernel"}, counted_launches(record));
}

}  // namespace headroom
