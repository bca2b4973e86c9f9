#include "report/profile_memory.h"

#include <algorithm>

#include "report/series.h"

namespace headroom {
namespace {

std::string memory_title(MemoryKind kind) {
  std::string name(name_of(kind));
  std::ranges::replace(name, '_', ' ');
  return name;
}

// The most bytes of a kind in any step.
std::int64_t highest_memory(const MemoryTimeline& timeline, MemoryKind kind) {
  std::int64_t highest = timeline.peak[kind];
  for (const MemoryBytes& step : timeline.steps) highest = std::max(highest, step[kind]);
  return highest;
}

Cell memory_percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? Cell(100.0 * double(part) / double(whole)) : Cell();
}

// A number of bytes that people can read on an axis, and its unit.
struct MemoryUnit {
  const char* name;
  double bytes;
};
MemoryUnit memory_unit(double bytes) {
  for (const MemoryUnit unit : {MemoryUnit{"GB", 1e9}, MemoryUnit{"MB", 1e6}, MemoryUnit{"kB", 1e3}})
    if (bytes >= unit.bytes) return unit;
  return {"bytes", 1};
}

}  // namespace

Sheet memory_sheet(const RunRecord& record) {
  using enum Column::Format;
  Sheet sheet("memory",
              {{.key = "kind", .title = "memory"},
               {.key = "planned_bytes", .title = "planned", .unit = "B", .format = bytes, .dash_zero = true},
               {.key = "peak_bytes", .title = "at the peak", .unit = "B", .format = bytes, .dash_zero = true},
               {.key = "percent_of_peak", .title = "% of peak", .unit = "%", .format = tenths}});
  if (!record.memory) return sheet;
  const MemoryTimeline& t = record.memory->planned;
  const std::int64_t total = t.peak.total(), stored = total - t.peak.arena();
  for (const MemoryKind kind : kMemoryKinds)
    sheet.row(
        {memory_title(kind), highest_memory(t, kind), t.peak[kind], memory_percent(t.peak[kind], total)});
  sheet.rule();
  sheet.row({"arena", t.arena_bytes, t.peak.arena(), memory_percent(t.peak.arena(), total)});
  sheet.row({"all", stored + t.arena_bytes, total, memory_percent(total, total)});
  if (record.memory->real_peak_bytes > 0) sheet.row({"real", Cell(), record.memory->real_peak_bytes, Cell()});
  return sheet;
}

Sheet alive_sheet(const RunRecord& record) {
  using enum Column::Format;
  Sheet sheet("alive_at_peak", {{.key = "name", .title = "alive at the peak"},
                                {.key = "layer", .title = "layer", .left = true},
                                {.key = "kind", .title = "kind", .left = true, .priority = 2},
                                {.key = "bytes", .title = "size", .unit = "B", .format = bytes},
                                {.key = "percent_of_arena", .title = "%", .unit = "%", .format = tenths},
                                {.key = "first_step", .title = "from step"},
                                {.key = "last_use_step", .title = "to step"},
                                {.key = "held_to_step", .title = ""}});
  if (!record.memory) return sheet;
  const MemoryTimeline& t = record.memory->planned;
  const auto step_or_end = [&](int step) {
    return step < static_cast<int>(t.steps.size()) ? Cell(std::int64_t(step)) : Cell();
  };
  for (const MemoryTimeline::Piece& p : t.alive)
    sheet.row({p.name, p.layer, memory_title(p.kind), p.bytes, memory_percent(p.bytes, t.peak.arena()),
               std::int64_t(p.first), step_or_end(p.last_use), step_or_end(p.last)});
  return sheet;
}

Sheet layer_memory_sheet(const RunRecord& record) {
  using enum Column::Format;
  std::vector<Column> columns = {{.key = "layer", .title = "layer"}};
  for (const MemoryKind kind : kMemoryKinds)
    columns.push_back({.key = fmt::format("{}_bytes", name_of(kind)),
                       .title = memory_title(kind),
                       .unit = "B",
                       .format = bytes,
                       .dash_zero = true,
                       .priority = kind == MemoryKind::other_state || kind == MemoryKind::inputs ? 2 : 1});
  columns.push_back({.key = "total_bytes", .title = "all", .unit = "B", .format = bytes});
  Sheet sheet("memory_by_layer", columns);
  if (!record.memory) return sheet;
  const auto cells = [](const std::string& name, const MemoryBytes& bytes_of) {
    std::vector<Cell> row = {name};
    for (const MemoryKind kind : kMemoryKinds) row.emplace_back(bytes_of[kind]);
    row.emplace_back(bytes_of.total());
    return row;
  };
  for (const MemoryTimeline::Layer& l : record.memory->planned.layers)
    sheet.row(cells(l.layer.empty() ? "no layer" : l.layer, l.bytes));
  sheet.total(cells("all", record.memory->planned.peak));
  return sheet;
}

std::map<std::string, std::int64_t> peak_bytes_by_layer(const RunRecord& record) {
  std::map<std::string, std::int64_t> bytes;
  if (!record.memory) return bytes;
  for (const MemoryTimeline::Layer& l : record.memory->planned.layers) bytes[l.layer] += l.bytes.total();
  return bytes;
}

std::string memory_chart(const RunRecord& record, const TableView& view) {
  if (!record.memory || record.memory->planned.steps.empty()) return "";
  const MemoryTimeline& t = record.memory->planned;
  const MemoryUnit unit = memory_unit(double(t.peak.total()));
  Series series{.info = {.key = "memory", .name = "memory alive over the steps", .unit = unit.name},
                .values = {},
                .summary = {.max = double(t.peak.total()) / unit.bytes,
                            .readings = static_cast<std::int64_t>(t.steps.size())}};
  std::vector<double> ends;  // a value stands for what came since the one before it
  for (const MemoryBytes& step : t.steps) {
    series.values.push_back(double(step.total()) / unit.bytes);
    ends.push_back(double(series.values.size()));
  }
  return draw_series(series, ends, view, fmt::format("{} steps", t.steps.size()));
}

}  // namespace headroom
