#include "report/work_sheet.h"

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "report/work_columns.h"

namespace headroom {
namespace {

std::vector<std::string> parts_off(const WorkVerdict& verdict) {
  std::vector<std::string> parts;
  if (verdict.flops) parts.emplace_back("FLOP");
  if (verdict.l2) parts.emplace_back("L2");
  if (verdict.dram) parts.emplace_back("DRAM");
  return parts;
}

}  // namespace

std::size_t kernels_off(const WorkCheck& check) {
  return static_cast<std::size_t>(std::ranges::count_if(
      check.rows, [&](const WorkRow& row) { return judge(row, check.tolerance).any(); }));
}

Sheet work_sheet(const WorkCheck& check, WorkRows rows) {
  std::vector<Column> columns = {
      {.key = "operator", .title = "operator"},
      {.key = "kernel", .title = "kernel", .left = true},
      {.key = "precision", .title = "in", .left = true},
      {.key = "problem", .title = "problem", .left = true, .wrap = true, .priority = 3},
      {.key = "off", .title = "off", .left = true},
      {.key = "least_gflop",
       .title = "least GFLOP",
       .format = Column::Format::ten_thousandths,
       .priority = 4}};
  std::ranges::move(work_columns(), std::back_inserter(columns));
  Sheet sheet("work", std::move(columns));
  for (const WorkRow& row : check.rows) {
    const std::vector<std::string> off = parts_off(judge(row, check.tolerance));
    if (off.empty() && rows == WorkRows::off) continue;
    std::vector<Cell> cells = {row.problem.op,
                               row.kernel,
                               row.precision,
                               row.problem.str(),
                               off.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(off, " "))),
                               1e-9 * row.cost.flops()};
    std::ranges::move(work_cells(row.work, row.counted), std::back_inserter(cells));
    sheet.row(std::move(cells));
  }
  return sheet;
}

std::string work_notes(const WorkCheck& check) {
  const WorkTolerance& tolerance = check.tolerance;
  std::string text = paragraph(
      fmt::format(
          "{} of {} rows are off. FLOPs may differ by {:g} %, where at least 90 % of them are products; "
          "bytes by {:g} %: through L2 where there is a megabyte, of memory where the tensors take more "
          "than four times the {} of L2.",
          kernels_off(check), check.rows.size(), 100 * tolerance.flops, 100 * tolerance.bytes,
          human_bytes(tolerance.l2_capacity)),
      {});
  text += paragraph(work_note(), {});
  for (const std::string& note : check.notes) text += paragraph("Counters: " + note, {});
  for (const std::string& reason : check.left_out) text += fmt::format("Left out: {}\n", reason);
  return text;
}

Json work_check_json(const WorkCheck& check) {
  const WorkTolerance& tolerance = check.tolerance;
  Json rows = Json::array();
  for (const WorkRow& row : check.rows)
    rows.push_back({{"operator", row.problem.op},
                    {"kernel", row.kernel},
                    {"precision", row.precision},
                    {"problem", row.problem.str()},
                    {"off", parts_off(judge(row, check.tolerance))},
                    {"least_flops", row.cost.flops()},
                    {"launches", row.work.launch_count()},
                    {"counted", work_json(row.work, row.counted)}});
  return {{"kernels", rows},
          {"tolerance",
           {{"flops", tolerance.flops}, {"bytes", tolerance.bytes}, {"l2_capacity", tolerance.l2_capacity}}},
          {"notes", check.notes},
          {"left_out", check.left_out}};
}

}  // namespace headroom
