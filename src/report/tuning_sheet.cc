#include "report/tuning_sheet.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

struct TuningRow {
  std::string kernel;
  Counted counted;
  double return_s = 0, warp_score = 0, access_score = 0;
  int warp_place = 0, access_place = 0;
};

// The ratio of a column of the counter sheets; empty if it was not counted.
std::optional<double> ratio(const Counted& counted, const std::string& key) {
  for (const CounterColumn& column : gpu_ratio_columns())
    if (column.column.key == key)
      if (const Cell cell = column.cell(counted); std::holds_alternative<double>(cell))
        return std::get<double>(cell);
  return {};
}

double accesses_per_instruction(const Counted& counted) {
  return ratio(counted, "loads_per_instruction").value_or(0) +
         ratio(counted, "stores_per_instruction").value_or(0);
}

// A sign in the counters that explains lost time; the first in the list that shows is told.
std::string sign_in(const Counted& c) {
  constexpr double kFewLanes = 70, kPoorUse = 50, kExtraBytes = 1.5, kFewWarps = 20, kManyAccesses = 0.2,
                   kSlowIssue = 1;
  if (const auto lanes = ratio(c, "lanes_percent"); lanes && *lanes < kFewLanes)
    return fmt::format("{:.0f} % of the lanes work: branches part the warps, or blocks are small", *lanes);
  if (const auto use = ratio(c, "load_efficiency_percent"); use && *use < kPoorUse)
    return fmt::format("{:.0f} % of what loads fetch is used: lanes read far apart", *use);
  const auto dram = c.together({"dram-read", "dram-write"});
  const auto plan = c.together({"bytes"});
  if (dram && plan && plan->at(0) > 0 && dram->at(0) + dram->at(1) > kExtraBytes * plan->at(0))
    return fmt::format("it moves {:.1f} times the bytes of the plan",
                       (dram->at(0) + dram->at(1)) / plan->at(0));
  if (const auto occupancy = ratio(c, "occupancy_percent"); occupancy && *occupancy < kFewWarps)
    return fmt::format("few warps: {:.0f} % of the room for them is used", *occupancy);
  if (const double accesses = accesses_per_instruction(c); accesses > kManyAccesses)
    return fmt::format("a global access every {:.1f} instructions: keep more in registers", 1 / accesses);
  const auto per_cycle = ratio(c, "instructions_per_cycle"), warps = ratio(c, "warps_per_instruction");
  if (per_cycle && warps && *per_cycle < kSlowIssue)
    return fmt::format("warps wait: {:.0f} warp cycles for an instruction, {:.2f} instructions per cycle",
                       *warps, *per_cycle);
  return "the counters do not show why";
}

std::string reason_for(const TuningRow& row) {
  constexpr double kNearFloor = 0.1;
  if (row.counted.floor_s <= 0) return sign_in(row.counted);
  return row.return_s < kNearFloor * row.counted.seconds ? "near its floor" : sign_in(row.counted);
}

// Places by a score, the highest first.
void number_places(std::vector<TuningRow>& rows, double TuningRow::*score, int TuningRow::*place) {
  std::vector<TuningRow*> order;
  for (TuningRow& row : rows) order.push_back(&row);
  std::ranges::stable_sort(order,
                           [&](const TuningRow* a, const TuningRow* b) { return a->*score > b->*score; });
  for (std::size_t i = 0; i < order.size(); ++i) order[i]->*place = static_cast<int>(i) + 1;
}

std::vector<TuningRow> tuning_rows(const CountedRows& counted_rows) {
  std::vector<TuningRow> rows;
  for (const auto& [kernel, counted] : counted_rows) {
    if (!counted.together({"warp-cycles", "issued"}) || counted.seconds <= 0) continue;
    TuningRow row{.kernel = kernel, .counted = counted};
    row.return_s = std::max(0.0, counted.seconds - counted.floor_s);
    row.warp_score = ratio(counted, "warps_per_instruction").value_or(0) * counted.seconds;
    row.access_score = accesses_per_instruction(counted) * counted.seconds;
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater(), &TuningRow::return_s);
  number_places(rows, &TuningRow::warp_score, &TuningRow::warp_place);
  number_places(rows, &TuningRow::access_score, &TuningRow::access_place);
  return rows;
}

}  // namespace

Sheet tuning_sheet(const RunRecord& record) {
  return tuning_sheet(counted_kernels(record), "operator and kernel");
}

Sheet tuning_sheet(const CountedRows& counted_rows, const char* title) {
  using F = Column::Format;
  const std::vector<TuningRow> rows = tuning_rows(counted_rows);
  if (rows.empty()) return {};
  Sheet sheet("tuning",
              {{.key = "kernel", .title = title},
               {.key = "time_ms", .title = "ms", .unit = "ms", .format = F::ten_thousandths},
               {.key = "floor_ms", .title = "floor ms", .unit = "ms", .format = F::ten_thousandths},
               {.key = "return_ms", .title = "to gain ms", .unit = "ms", .format = F::ten_thousandths},
               {.key = "warp_score", .title = "warps x ms", .format = F::thousandths, .priority = 2},
               {.key = "warp_place", .title = "place", .priority = 1},
               {.key = "access_score", .title = "accesses x ms", .format = F::thousandths, .priority = 2},
               {.key = "access_place", .title = "place", .priority = 1},
               {.key = "reason", .title = "reason", .left = true, .wrap = true}});
  for (const TuningRow& row : rows)
    sheet.row({row.kernel, 1e3 * row.counted.seconds, known(1e3 * row.counted.floor_s),
               row.counted.floor_s > 0 ? Cell(1e3 * row.return_s) : Cell(), 1e3 * row.warp_score,
               std::int64_t{row.warp_place}, 1e3 * row.access_score, std::int64_t{row.access_place},
               reason_for(row)});
  return sheet;
}

}  // namespace headroom
