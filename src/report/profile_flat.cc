#include "report/profile_flat.h"

#include <algorithm>
#include <map>

#include "profile/span_tree.h"

namespace headroom {
namespace {

struct FlatRow {
  std::string_view name;
  std::int64_t exclusive_ns = 0, inclusive_ns = 0, calls = 0, subroutines = 0;
  void operator+=(const FlatRow& other) {
    exclusive_ns += other.exclusive_ns, inclusive_ns += other.inclusive_ns;
    calls += other.calls, subroutines += other.subroutines;
  }
};

struct FlatThread {
  std::map<std::string_view, FlatRow> rows;
  std::int64_t total_ns = 0;  // of its outermost spans
};

bool within_same_name(const std::vector<PlacedSpan>& spans, const PlacedSpan& placed) {
  for (int around = placed.parent; around >= 0;) {
    const PlacedSpan& outer = spans[static_cast<std::size_t>(around)];
    if (outer.span->name == placed.span->name) return true;
    around = outer.parent;
  }
  return false;
}

std::map<int, FlatThread> flat_threads(const Trace& trace, TracePart part) {
  const TraceScope scope(trace, part);
  const std::vector<PlacedSpan> spans = placed_spans(trace, scope);
  std::map<int, FlatThread> threads;  // by lane
  const auto row_of_span = [&](const PlacedSpan& placed) -> FlatRow& {
    const std::string_view name = trace.text(placed.span->name);
    return threads[placed.span->lane].rows.try_emplace(name, FlatRow{name}).first->second;
  };
  for (const PlacedSpan& placed : spans) {
    FlatRow& row = row_of_span(placed);
    ++row.calls;
    row.exclusive_ns += placed.ns;
    if (!within_same_name(spans, placed)) row.inclusive_ns += placed.ns;
    if (placed.parent < 0) {
      threads[placed.span->lane].total_ns += placed.ns;
      continue;
    }
    FlatRow& around = row_of_span(spans[static_cast<std::size_t>(placed.parent)]);
    around.exclusive_ns -= placed.ns;
    ++around.subroutines;
  }
  return threads;
}

std::vector<FlatRow> by_inclusive_time(const std::map<std::string_view, FlatRow>& rows) {
  std::vector<FlatRow> list;
  for (const auto& [name, row] : rows) list.push_back(row);
  std::ranges::stable_sort(list, std::greater(),
                           [](const FlatRow& row) { return std::pair(row.inclusive_ns, row.exclusive_ns); });
  return list;
}

double flat_ms(std::int64_t ns) { return 1e-6 * double(ns); }

Cell flat_percent(std::int64_t ns, std::int64_t all) {
  return all > 0 ? Cell(100 * double(ns) / double(all)) : Cell();
}

double us_per_call(const FlatRow& row) { return 1e-3 * double(row.inclusive_ns) / double(row.calls); }

// The columns of TAU, between those that name a thread and those of one table alone.
std::vector<Column> flat_columns(std::vector<Column> columns, const std::vector<Column>& more = {}) {
  using enum Column::Format;
  columns.insert(
      columns.end(),
      {{.key = "time_percent", .title = "time %", .unit = "%", .format = tenths},
       {.key = "exclusive_ms", .title = "exclusive ms", .unit = "ms", .format = thousandths},
       {.key = "inclusive_ms", .title = "inclusive ms", .unit = "ms", .format = thousandths},
       {.key = "calls", .title = "calls", .format = commas},
       {.key = "subroutines", .title = "subroutines", .format = commas, .priority = 2},
       {.key = "per_call_us", .title = "us per call", .unit = "us", .format = tenths, .priority = 1}});
  columns.insert(columns.end(), more.begin(), more.end());
  columns.push_back({.key = "name", .title = "name", .left = true});
  return columns;
}

}  // namespace

Sheet flat_sheet(const Trace& trace, TracePart part) {
  const bool ranks = std::ranges::any_of(trace.lanes, [](const Trace::Lane& lane) { return lane.rank != 0; });
  Sheet sheet("flat", flat_columns({{.key = "thread", .title = "thread"},
                                    {.key = "rank", .title = ranks ? "rank" : ""}}));
  for (const auto& [number, thread] : flat_threads(trace, part)) {
    const Trace::Lane& lane = trace.lanes[static_cast<std::size_t>(number)];
    sheet.rule();
    for (const FlatRow& row : by_inclusive_time(thread.rows))
      sheet.row({lane.name, std::int64_t{lane.rank}, flat_percent(row.inclusive_ns, thread.total_ns),
                 flat_ms(row.exclusive_ns), flat_ms(row.inclusive_ns), row.calls, row.subroutines,
                 us_per_call(row), std::string(row.name)});
  }
  return sheet;
}

Sheet flat_sum_sheet(const Trace& trace, TracePart part) {
  using enum Column::Format;
  const std::map<int, FlatThread> threads = flat_threads(trace, part);
  std::map<std::string_view, FlatRow> sums;
  std::int64_t total_ns = 0;
  for (const auto& [lane, thread] : threads) {
    total_ns += thread.total_ns;
    for (const auto& [name, row] : thread.rows) sums.try_emplace(name, FlatRow{name}).first->second += row;
  }
  Sheet sheet("flat_sum", flat_columns({}, {{.key = "mean_exclusive_ms",
                                             .title = "mean exclusive ms",
                                             .unit = "ms",
                                             .format = thousandths,
                                             .priority = 4},
                                            {.key = "mean_inclusive_ms",
                                             .title = "mean inclusive ms",
                                             .unit = "ms",
                                             .format = thousandths,
                                             .priority = 3}}));
  const auto count = double(threads.size());
  for (const FlatRow& row : by_inclusive_time(sums))
    sheet.row({flat_percent(row.inclusive_ns, total_ns), flat_ms(row.exclusive_ns), flat_ms(row.inclusive_ns),
               row.calls, row.subroutines, us_per_call(row), flat_ms(row.exclusive_ns) / count,
               flat_ms(row.inclusive_ns) / count, std::string(row.name)});
  return sheet;
}

}  // namespace headroom
