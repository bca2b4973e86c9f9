#include "base/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

void Table::left(std::size_t column) { left_.push_back(column); }

void Table::row(std::vector<std::string> cells) {
  cells.resize(header_.size());
  rows_.push_back(std::move(cells));
}

void Table::rule() { rows_.emplace_back(); }

std::string Table::str() const {
  std::vector<std::size_t> width(header_.size());
  for (std::size_t c = 0; c < header_.size(); ++c) {
    width[c] = header_[c].size();
    for (const auto& row : rows_)
      if (!row.empty()) width[c] = std::max(width[c], row[c].size());
  }
  auto is_left = [&](std::size_t c) { return std::find(left_.begin(), left_.end(), c) != left_.end(); };
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) text += "  ";
      text +=
          is_left(c) ? fmt::format("{:<{}}", cells[c], width[c]) : fmt::format("{:>{}}", cells[c], width[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::size_t total = 2 * (width.size() - 1);
  for (std::size_t w : width) total += w;
  const std::string rule = std::string(total, '-') + "\n";

  std::string text = line(header_) + rule;
  for (const auto& row : rows_) text += row.empty() ? rule : line(row);
  return text;
}

}  // namespace headroom
