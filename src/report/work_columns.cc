#include "report/work_columns.h"

#include "base/json.h"

namespace headroom {
namespace {

// One amount: by the kernel's own account, and counted.
struct Amount {
  const char* key;  // "flops": in JSON, and of the ratio in tables
  double own;
  std::optional<double> counted;

  std::optional<double> ratio() const {
    return counted && own > 0 ? std::optional(*counted / own) : std::nullopt;
  }
};

std::vector<Amount> amounts_of(const Work& work, const CountedWork& counted) {
  return {{"flops", executed_flops(work), counted.flops()},
          {"l2_bytes", l2_bytes(work), counted.l2_bytes()},
          {"dram_bytes", work.bytes(), counted.dram_bytes()}};
}

Cell cell_of(const std::optional<double>& value, double scale = 1) {
  return value ? Cell(scale * *value) : Cell();
}

}  // namespace

std::vector<Column> work_columns() {
  using enum Column::Format;
  return {{.key = "work_gflop", .title = "work GFLOP", .format = ten_thousandths, .priority = 2},
          {.key = "counted_gflop", .title = "counted GFLOP", .format = ten_thousandths, .priority = 2},
          {.key = "flops_over_work", .title = "x FLOP", .format = thousandths, .priority = 1},
          {.key = "work_l2_mb", .title = "work L2 MB", .format = hundredths, .priority = 2},
          {.key = "counted_l2_mb", .title = "counted L2 MB", .format = hundredths, .priority = 2},
          {.key = "l2_over_work", .title = "x L2", .format = thousandths, .priority = 1},
          {.key = "work_mb", .title = "work MB", .format = hundredths, .priority = 2},
          {.key = "counted_dram_mb", .title = "counted MB", .format = hundredths, .priority = 2},
          {.key = "dram_over_work", .title = "x DRAM", .format = thousandths, .priority = 1}};
}

std::vector<Cell> work_cells(const Work& work, const std::optional<CountedWork>& counted) {
  if (!counted) return std::vector<Cell>(work_columns().size());
  std::vector<Cell> cells;
  for (const Amount& amount : amounts_of(work, *counted)) {
    const double scale = std::string_view(amount.key) == "flops" ? 1e-9 : 1e-6;
    cells.insert(cells.end(), {scale * amount.own, cell_of(amount.counted, scale), cell_of(amount.ratio())});
  }
  return cells;
}

Json work_json(const Work& work, const CountedWork& counted) {
  Json json = {{"counters", counted.counters}};
  for (const Amount& amount : amounts_of(work, counted)) {
    Json& one = json[amount.key];
    one["work"] = amount.own;
    if (amount.counted) one["counted"] = *amount.counted;
    if (const auto ratio = amount.ratio()) one["ratio"] = *ratio;
  }
  return json;
}

std::string work_note() {
  return "Counted: by the GPU in one run, warm; x: times the kernel's own account. FLOPs are those of whole "
         "tiles, two for a multiply-add; special functions and comparisons are not counted. Data that fits "
         "the L2 cache stays there, and takes no DRAM.\n";
}

}  // namespace headroom
