#include "report/counter_sheets.h"

#include <algorithm>
#include <functional>

#include "profile/counter_recorder.h"

namespace headroom {
namespace {

constexpr double kLineBytes = 64;

// The sums of one row.
struct Counted {
  std::map<std::string, double> counters;
  double bytes = 0;  // the least traffic

  bool has(const char* name) const { return counters.contains(name); }
  double at(const char* name) const { return counters.at(name); }
};

// A column that is there if all its counters are.
struct CounterColumn {
  Column column;
  std::vector<const char*> needs;
  std::function<Cell(const Counted&)> value;
};

Cell ratio_of(double numerator, double denominator, double scale = 1) {
  return denominator > 0 ? Cell(scale * numerator / denominator) : Cell();
}

CounterColumn plain_column(const char* counter, const char* key, const char* title, double scale,
                           Column::Format format) {
  return {{.key = key, .title = title, .format = format}, {counter}, [=](const Counted& c) {
            return Cell(scale * c.at(counter));
          }};
}

std::vector<CounterColumn> counter_columns() {
  using F = Column::Format;
  std::vector<CounterColumn> list = {
      plain_column("task-clock", "core_ms", "core ms", 1e-6, F::ten_thousandths),
      {{.key = "cores_busy", .title = "cores busy", .format = F::hundredths},
       {"task-clock", CounterRecorder::kTime},
       [](const Counted& c) { return ratio_of(1e-9 * c.at("task-clock"), c.at(CounterRecorder::kTime)); }},
      plain_column("page-faults", "page_faults", "faults", 1, F::tenths),
      plain_column("context-switches", "context_switches", "switches", 1, F::tenths),
      plain_column("cpu-migrations", "cpu_migrations", "migrations", 1, F::tenths),
      plain_column("instructions", "instructions", "instructions", 1, F::si),
      plain_column("cycles", "cycles", "cycles", 1, F::si),
      {{.key = "instructions_per_cycle", .title = "per cycle", .format = F::hundredths},
       {"instructions", "cycles"},
       [](const Counted& c) { return ratio_of(c.at("instructions"), c.at("cycles")); }},
      plain_column("branches", "branches", "branches", 1, F::si),
      {{.key = "branch_miss_percent", .title = "mispredicted %", .format = F::hundredths},
       {"branches", "branch-misses"},
       [](const Counted& c) { return ratio_of(c.at("branch-misses"), c.at("branches"), 100); }},
      plain_column("cache-references", "cache_references", "cache accesses", 1, F::si),
      {{.key = "cache_miss_percent", .title = "missed %", .format = F::tenths},
       {"cache-references", "cache-misses"},
       [](const Counted& c) { return ratio_of(c.at("cache-misses"), c.at("cache-references"), 100); }},
      plain_column("cache-misses", "memory_mb", "MB read", kLineBytes * 1e-6, F::hundredths),
      {{.key = "least_mb", .title = "MB at least", .format = F::hundredths},
       {"cache-misses"},
       [](const Counted& c) { return Cell(1e-6 * c.bytes); }}};
  return list;
}

// Rows in the order in which their first step runs.
using CountedRows = std::vector<std::pair<std::string, Counted>>;

void add_step(CountedRows& rows, const std::string& name, const Measurement::Step& step, double bytes,
              double share) {
  auto row = std::ranges::find(rows, name, &CountedRows::value_type::first);
  if (row == rows.end()) row = rows.insert(row, {name, {}});
  for (const auto& [counter, value] : step.counters) row->second.counters[counter] += share * value;
  row->second.bytes += share * bytes;
}

Sheet sheet_of(const char* name, Column first, const CountedRows& rows) {
  std::vector<Column> columns = {std::move(first)};
  std::vector<CounterColumn> shown;
  for (CounterColumn& c : counter_columns())
    if (!rows.empty() && std::ranges::all_of(c.needs, [&](const char* n) { return rows[0].second.has(n); }))
      columns.push_back(c.column), shown.push_back(std::move(c));
  if (shown.empty()) return {};
  Sheet sheet(name, columns);
  Counted all;
  const auto cells_of = [&](const std::string& what, const Counted& counted) {
    std::vector<Cell> cells = {what};
    for (const CounterColumn& c : shown) cells.push_back(c.value(counted));
    return cells;
  };
  for (const auto& [what, counted] : rows) {
    sheet.row(cells_of(what, counted));
    for (const auto& [counter, value] : counted.counters) all.counters[counter] += value;
    all.bytes += counted.bytes;
  }
  sheet.total(cells_of("all", all));
  return sheet;
}

// Calls `add` with every step of the plan and what was counted in it.
template <class Add>
CountedRows counted_rows(const RunRecord& r, Add&& add) {
  CountedRows rows;
  if (!r.plan || !r.measurement || r.measurement->steps.size() != r.plan->steps.size()) return rows;
  for (std::size_t s = 0; s < r.plan->steps.size(); ++s)
    if (!r.measurement->steps[s].counters.empty()) add(rows, r.plan->steps[s], r.measurement->steps[s]);
  return rows;
}

}  // namespace

Sheet layer_counters_sheet(const RunRecord& record) {
  return sheet_of(
      "layer_counters", {.key = "layer", .title = "layer"},
      counted_rows(record, [](CountedRows& rows, const auto& step, const Measurement::Step& counted) {
        for (const Charge& charge : step.charges)
          add_step(rows, charge.layer, counted, step.bytes, charge.share);
      }));
}

Sheet kernel_counters_sheet(const RunRecord& record) {
  return sheet_of(
      "kernel_counters", {.key = "kernel", .title = "operator and kernel"},
      counted_rows(record, [](CountedRows& rows, const auto& step, const Measurement::Step& counted) {
        add_step(rows, step.op + " " + step.kernel, counted, step.bytes, 1);
      }));
}

}  // namespace headroom
