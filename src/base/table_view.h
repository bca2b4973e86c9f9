#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// How a table is printed. It does not change what CSV and JSON hold.
struct TableView {
  int width = 0;         // max columns of a line; 0: no limit
  std::string remedy;    // how to see what was left out
  std::string sort;      // a column by key or title: numbers largest first, texts in alphabetical order
  std::int64_t top = 0;  // print only the first rows; 0: all
  bool summary = false;  // print only the totals
};

}  // namespace headroom
