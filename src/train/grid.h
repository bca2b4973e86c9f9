#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/text.h"

namespace headroom {

// One setting that takes several values: "lr" with 0.01, 0.05, 0.1.
struct GridAxis {
  std::string name;
  std::vector<std::string> values;
};

// Every combination of the axes' values; the last axis changes fastest. Without axes: one empty row. Rejects
// more rows than anyone wants to wait for.
using GridRow = std::vector<Setting>;
std::vector<GridRow> grid_rows(const std::vector<GridAxis>& axes);

// "0.01,0.05,0.1" as values. A part like name=value belongs to the value before it, so that
// "adam:beta1=0.9,epsilon=1e-8,sgd" is two. Rejects an empty value and one that is there twice; `option`
// names the list in the message.
std::vector<std::string> parse_values(std::string_view list, std::string_view option);

std::string to_text(const GridRow& row);                                 // "lr 0.05, hidden 64"
GridRow without(const GridRow& row, std::string_view name);              // all settings but this one
const std::string* value_of(const GridRow& row, std::string_view name);  // null: not in the row

}  // namespace headroom
