#include "data/targets.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::int64_t kMaxTargets = 1 << 24;
constexpr const char* kTableLayout = "a header as file,angle,speed, then a row per picture";

std::vector<std::string> cells_of(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  return split(line, ',');
}

void read_row(const std::vector<std::string>& cells, const std::string& where, TargetTable& table) {
  if (cells.size() != table.names.size() + 1)
    reject(Hint{kTableLayout}, "{} has {} cells; its header has {}", where, cells.size(),
           table.names.size() + 1);
  if (cells[0].empty()) reject(Hint{kTableLayout}, "{} names no file", where);
  table.files.push_back(cells[0]);
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const double value = parse_double(cells[i], fmt::format("{}, {}", where, table.names[i - 1]));
    if (!std::isfinite(static_cast<float>(value)))
      reject("{}, {}: {} is beyond the range of fp32", where, table.names[i - 1], cells[i]);
    table.values.push_back(static_cast<float>(value));
  }
}

}  // namespace

TargetTable read_target_table(const std::filesystem::path& path) {
  TargetTable table;
  std::set<std::string> seen;
  std::int64_t number = 0;
  for (const std::string& line : split(read_file(path), '\n')) {
    ++number;
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> cells = cells_of(line);
    const std::string where = fmt::format("{}, line {}", path.string(), number);
    if (!table.names.empty()) {
      read_row(cells, where, table);
      if (!seen.insert(cells[0]).second) reject("{} names {} once more", where, cells[0]);
    } else if (cells.size() < 2 || cells[0] != "file") {
      reject(Hint{kTableLayout}, "{} is not the header of a table of targets", where);
    } else {
      table.names.assign(cells.begin() + 1, cells.end());
    }
  }
  if (table.files.empty()) reject(Hint{kTableLayout}, "{} has no rows", path.string());
  require_targets(std::ssize(table.names), path.string());
  return table;
}

void require_targets(std::int64_t each, const std::string& where) {
  if (each < 1 || each > kMaxTargets)
    reject("{} has {} targets per item; it must be 1 to {}", where, each, kMaxTargets);
}

bool targets_are_labels(const Dataset& data) {
  const auto either = [](float x) { return x == 0 || x == 1; };
  return std::ranges::all_of(data.train.targets, either) && std::ranges::all_of(data.test.targets, either);
}

}  // namespace headroom
