#pragma once

#include <string>
#include <vector>

namespace headroom {

// A text table for people: the first column is left-aligned, the others right-aligned, rules above totals.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void left(std::size_t column);  // left-aligns this column too (names, shapes)
  void row(std::vector<std::string> cells);
  void rule();
  std::string str() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
  std::vector<std::size_t> left_ = {0};
};

}  // namespace headroom
