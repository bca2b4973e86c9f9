// Benchmarks keep tables of medians, without samples: their rows are matched, their times compared.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/diff.h"

namespace headroom {
namespace {

// A benchmark samples until the standard error of a median is 2 % (docs/numbers.md). The ratio of two has
// 2.8 %, so that three and a half times this is beyond its noise.
constexpr double kBeyondNoise = 0.1;

double seconds_per(const std::string& unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
  for (const auto& [name, seconds] : kUnits)
    if (name == unit) return seconds;
  return 0;
}

// Of a column of times: no prediction, bound, published figure or edge of a range. "forward_predicted_ms" is
// a prediction.
bool is_median(const Column& column) {
  constexpr std::array<std::string_view, 8> kOthers = {"predicted", "low", "high", "floor",
                                                       "published", "min", "p10",  "p90"};
  return std::ranges::none_of(split(column.key, '_'), [&](const std::string& word) {
    return std::ranges::find(kOthers, word) != kOthers.end();
  });
}

double number_in(const Cell& cell) {
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr ? *number : 0;
}

std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return std::holds_alternative<std::monostate>(cell) ? "" : fmt::format("{:.6g}", number_in(cell));
}

bool same_columns(const Sheet& a, const Sheet& b) {
  return a.name() == b.name() &&
         std::ranges::equal(a.columns(), b.columns(), [](const Column& x, const Column& y) {
           return x.key == y.key && x.unit == y.unit;
         });
}

// The columns before the first time say what was timed. The kernel and numbers with a unit are results; only
// the first column may have one ("bytes").
std::string name_of_row(const Sheet& sheet, std::size_t row) {
  std::string name;
  for (const Column& column : sheet.columns()) {
    if (seconds_per(column.unit) > 0) break;
    const bool first = &column == &sheet.columns().front();
    if (column.key == "kernel" || (!first && !column.unit.empty())) continue;
    const std::string text = text_of(sheet.at(row, column.key));
    if (text.empty()) continue;
    const bool bare = std::holds_alternative<std::string>(sheet.at(row, column.key));  // "lenet5", "batch 64"
    name += (name.empty() ? "" : ", ") + (bare ? text : column.title + " " + text);
  }
  return name;
}

// Rows by name; the second of two equal names is "name (2)".
std::map<std::string, std::size_t> rows_by_name(const Sheet& sheet, std::vector<std::string>& order) {
  std::map<std::string, std::size_t> rows;
  std::map<std::string, int> seen;
  for (std::size_t r = 0; r < sheet.rows(); ++r) {
    std::string name = name_of_row(sheet, r);
    if (const int again = ++seen[name]; again > 1) name += fmt::format(" ({})", again);
    rows[name] = r;
    order.push_back(name);
  }
  return rows;
}

MedianInterval median_only(double seconds) {
  MedianInterval interval;
  interval.spread.median = seconds;
  interval.spread.samples = seconds > 0 ? 1 : 0;
  return interval;
}

Change judge_medians(double before, double after) {
  if (before <= 0) return Change::added;
  if (after <= 0) return Change::gone;
  const double ratio = after / before;
  if (std::max(ratio, 1 / ratio) <= 1 + kBeyondNoise) return Change::unsure;
  return ratio > 1 ? Change::slower : Change::faster;
}

void compare_sheets(const Sheet& before, const Sheet& after, std::vector<DiffRow>& cells) {
  std::vector<std::string> order, order_after;
  const auto old_rows = rows_by_name(before, order), new_rows = rows_by_name(after, order_after);
  for (const std::string& name : order_after)
    if (!old_rows.contains(name)) order.push_back(name);
  for (const std::string& name : order)
    for (const Column& column : before.columns()) {
      const double unit = seconds_per(column.unit);
      if (unit == 0 || !is_median(column)) continue;
      const auto value = [&](const Sheet& sheet, const std::map<std::string, std::size_t>& rows) {
        const auto it = rows.find(name);
        return it == rows.end() ? 0 : unit * number_in(sheet.at(it->second, column.key));
      };
      const double a = value(before, old_rows), b = value(after, new_rows);
      if (a <= 0 && b <= 0) continue;
      cells.push_back({.name = name,
                       .what = column.key,
                       .before = median_only(a),
                       .after = median_only(b),
                       .change = judge_medians(a, b)});
    }
}

}  // namespace

std::vector<DiffRow> compare_tables(const std::vector<Sheet>& before, const std::vector<Sheet>& after) {
  std::vector<DiffRow> cells;
  for (const Sheet& sheet : before)
    for (const Sheet& other : after)
      if (same_columns(sheet, other)) compare_sheets(sheet, other, cells);
  return cells;
}

}  // namespace headroom
