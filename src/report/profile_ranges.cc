#include "report/profile_ranges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "base/units.h"
#include "profile/span_tree.h"

namespace headroom {
namespace {

using Correlated = std::map<std::pair<int, std::int64_t>, Trace::Interval>;  // by rank and correlation

void cover(Trace::Interval& interval, const Trace::Interval& other) {
  interval.begin_ns = std::min(interval.begin_ns, other.begin_ns);
  interval.end_ns = std::max(interval.end_ns, other.end_ns);
}

// From the first begin to the last end of what each call made the device do.
Correlated device_work(const Trace& trace) {
  Correlated work;
  const auto add = [&](const auto& event) {
    if (event.correlation == 0) return;
    const int rank = trace.lanes.at(static_cast<std::size_t>(event.lane)).rank;
    const auto [it, is_new] = work.try_emplace({rank, event.correlation}, event);
    if (!is_new) cover(it->second, event);
  };
  for (const Trace::Kernel& kernel : trace.kernels) add(kernel);
  for (const Trace::Copy& copy : trace.copies) add(copy);
  return work;
}

// The innermost span around the beginning of a call; -1: none.
int span_around(const std::vector<PlacedSpan>& spans, const Trace::Call& call) {
  const auto after =
      std::ranges::upper_bound(spans, std::pair(call.lane, call.begin_ns), {},
                               [](const PlacedSpan& p) { return std::pair(p.span->lane, p.span->begin_ns); });
  auto i = static_cast<int>(after - spans.begin()) - 1;
  if (i >= 0 && spans[static_cast<std::size_t>(i)].span->lane != call.lane) return -1;
  while (i >= 0 && spans[static_cast<std::size_t>(i)].span->end_ns <= call.begin_ns)
    i = spans[static_cast<std::size_t>(i)].parent;
  return i;
}

// For each span the length of its projection. Work of different windows is projected by itself.
std::map<int, std::int64_t> projections(const Trace& trace, const TraceScope& scope,
                                        const std::vector<PlacedSpan>& spans) {
  const Correlated work = device_work(trace);
  std::map<std::pair<int, std::size_t>, Trace::Interval> hulls;  // by span and window
  for (const Trace::Call& call : trace.calls) {
    const auto window = scope.window_at(call.lane, call.begin_ns);
    const auto done = work.find({trace.lanes.at(static_cast<std::size_t>(call.lane)).rank, call.correlation});
    if (!window || done == work.end()) continue;
    for (int i = span_around(spans, call); i >= 0; i = spans[static_cast<std::size_t>(i)].parent) {
      const auto [hull, is_new] = hulls.try_emplace({i, *window}, done->second);
      if (!is_new) cover(hull->second, done->second);
    }
  }
  std::map<int, std::int64_t> lengths;
  for (const auto& [key, hull] : hulls) lengths[key.first] += hull.end_ns - hull.begin_ns;
  return lengths;
}

struct RangeNode {
  RangeRow row;
  std::map<std::string_view, std::size_t> inner;
  std::vector<std::size_t> order;  // of `inner`, by first appearance
};

double total_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Node 0 is around everything.
std::vector<RangeNode> range_tree(const Trace& trace, TracePart part) {
  const TraceScope scope(trace, part);
  const std::vector<PlacedSpan> spans = placed_spans(trace, scope);
  const std::map<int, std::int64_t> gpu = projections(trace, scope, spans);
  std::vector<RangeNode> nodes(1);
  std::vector<std::size_t> node_of(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::size_t parent = spans[i].parent < 0 ? 0 : node_of[static_cast<std::size_t>(spans[i].parent)];
    const std::string_view name = trace.text(spans[i].span->name);
    const auto [it, is_new] = nodes[parent].inner.try_emplace(name, nodes.size());
    node_of[i] = it->second;
    if (is_new) {
      nodes[parent].order.push_back(nodes.size());
      RangeNode& node = nodes.emplace_back();
      node.row = {.path = nodes[parent].row.path, .kind = spans[i].span->kind};
      node.row.path.emplace_back(name);
    }
    RangeRow& row = nodes[node_of[i]].row;
    row.host_ns.push_back(double(spans[i].ns));
    if (const auto projected = gpu.find(static_cast<int>(i)); projected != gpu.end())
      row.gpu_ns.push_back(double(projected->second));
  }
  return nodes;
}

void list_ranges(std::vector<RangeRow>& rows, std::vector<RangeNode>& nodes, std::size_t parent) {
  const double whole = total_of(nodes[parent].row.host_ns);
  for (const std::size_t i : nodes[parent].order) {
    if (whole > 0) nodes[i].row.percent_of_parent = 100 * total_of(nodes[i].row.host_ns) / whole;
    rows.push_back(nodes[i].row);
    list_ranges(rows, nodes, i);
  }
}

// Average, median, min, max and deviation in microseconds; empty cells for an empty list.
std::vector<Cell> spread_cells(const std::vector<double>& ns) {
  const Spread s = spread_of(ns);
  if (s.samples == 0) return std::vector<Cell>(5);
  double squares = 0;
  for (const double value : ns) squares += (value - s.mean) * (value - s.mean);
  const Cell deviation = ns.size() > 1 ? Cell(std::sqrt(squares / double(ns.size() - 1)) / 1e3) : Cell();
  return {s.mean / 1e3, s.median / 1e3, s.min / 1e3, s.max / 1e3, deviation};
}

std::vector<Column> range_columns(bool gpu) {
  using enum Column::Format;
  const auto us = [](const char* key, const char* title, int priority) {
    return Column{.key = key, .title = title, .unit = "us", .format = tenths, .priority = priority};
  };
  return {{.key = "range", .title = "range"},
          {.key = "path", .title = ""},
          {.key = "total_ms", .title = "total ms", .unit = "ms", .format = thousandths},
          {.key = "instances", .title = "instances", .format = commas, .priority = 1},
          us("average_us", "average us", 2),
          us("median_us", "median us", 0),
          us("min_us", "min us", 5),
          us("max_us", "max us", 4),
          us("deviation_us", "deviation us", 6),
          {.key = "parent_percent", .title = "% of parent", .unit = "%", .format = tenths},
          {.key = "gpu_total_ms",
           .title = gpu ? "GPU total ms" : "",
           .unit = "ms",
           .format = thousandths,
           .priority = 3},
          {.key = "gpu_instances", .title = ""},
          us("gpu_average_us", "", 0),
          us("gpu_median_us", gpu ? "GPU median us" : "", 0),
          us("gpu_min_us", "", 0),
          us("gpu_max_us", "", 0),
          us("gpu_deviation_us", "", 0)};
}

}  // namespace

std::vector<RangeRow> range_rows(const Trace& trace, TracePart part) {
  std::vector<RangeNode> nodes = range_tree(trace, part);
  std::vector<RangeRow> rows;
  list_ranges(rows, nodes, 0);
  return rows;
}

std::vector<RangeRow> zoomed(const std::vector<RangeRow>& rows, const std::string& name) {
  std::vector<RangeRow> kept;
  std::vector<std::string> names, around;  // around: the path of the range that the next rows may lie in
  std::size_t cut = 0;                     // names left out at the beginning of their paths
  for (const RangeRow& row : rows) {
    names.push_back(row.path.back());
    const bool within = !around.empty() && row.path.size() > around.size() &&
                        std::equal(around.begin(), around.end(), row.path.begin());
    if (!within) {
      around.clear();
      if (row.path.back() != name && name_of(row.kind) != name) continue;
      around = row.path, cut = row.path.size() - 1;
    }
    kept.push_back(row);
    kept.back().path.erase(kept.back().path.begin(), kept.back().path.begin() + std::ptrdiff_t(cut));
  }
  if (!kept.empty()) return kept;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  reject(nearest(name, names), "no range has the name '{}'", name);
}

Sheet ranges_sheet(const std::vector<RangeRow>& rows) {
  const bool gpu = std::ranges::any_of(rows, [](const RangeRow& row) { return !row.gpu_ns.empty(); });
  Sheet sheet("ranges", range_columns(gpu));
  for (const RangeRow& row : rows) {
    std::vector<Cell> cells = {std::string(2 * (row.path.size() - 1), ' ') + row.path.back(),
                               fmt::format("{}", fmt::join(row.path, " > ")), total_of(row.host_ns) / 1e6,
                               std::int64_t(row.host_ns.size())};
    const auto append = [&](const std::vector<Cell>& more) {
      cells.insert(cells.end(), more.begin(), more.end());
    };
    append(spread_cells(row.host_ns));
    append({row.percent_of_parent ? Cell(*row.percent_of_parent) : Cell(),
            row.gpu_ns.empty() ? Cell() : Cell(total_of(row.gpu_ns) / 1e6), std::int64_t(row.gpu_ns.size())});
    append(spread_cells(row.gpu_ns));
    sheet.row(std::move(cells));
  }
  return sheet;
}

}  // namespace headroom
