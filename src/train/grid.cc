#include "train/grid.h"

#include <algorithm>

namespace headroom {

std::vector<GridRow> grid_rows(const std::vector<GridAxis>& axes) {
  constexpr std::size_t kMaxRows = 10'000;
  std::vector<GridRow> rows = {{}};
  for (const GridAxis& axis : axes) {
    if (rows.size() * axis.values.size() > kMaxRows)
      reject(Hint{"take fewer values"}, "the grid has more than {} rows", kMaxRows);
    std::vector<GridRow> longer;
    for (const GridRow& row : rows)
      for (const std::string& value : axis.values) {
        longer.push_back(row);
        longer.back().push_back({axis.name, value});
      }
    rows = std::move(longer);
  }
  return rows;
}

std::vector<std::string> parse_values(std::string_view list, std::string_view option) {
  std::vector<std::string> values;
  for (const std::string& part : split(list, ',')) {
    if (part.empty()) reject(Hint{fmt::format("write {} a,b,c", option)}, "{} has an empty value", option);
    const bool setting = part.find('=') != part.npos && part.find(':') == part.npos;
    if (setting && !values.empty())
      values.back() += "," + part;
    else
      values.push_back(part);
  }
  for (auto it = values.begin(); it != values.end(); ++it)
    if (std::find(values.begin(), it, *it) != it)
      reject(Hint{"each value once"}, "{} has {} twice", option, *it);
  return values;
}

std::string to_text(const GridRow& row) {
  std::string text;
  for (const Setting& setting : row)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", setting.name, setting.value);
  return text;
}

GridRow without(const GridRow& row, std::string_view name) {
  GridRow rest = row;
  std::erase_if(rest, [&](const Setting& setting) { return setting.name == name; });
  return rest;
}

const std::string* value_of(const GridRow& row, std::string_view name) {
  const auto found = std::ranges::find(row, name, &Setting::name);
  return found == row.end() ? nullptr : &found->value;
}

}  // namespace headroom
