#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// A CSV file with a header line, plain or gzipped. Columns are found by name, in any order; all are kept as
// text, so that a table can be written again with further columns.
struct TimingTable {
  std::string origin;  // names the file in messages
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // one cell per column
  std::vector<std::size_t> lines;              // of each row in the file, from 1

  std::optional<std::size_t> find(std::string_view column) const;
  std::size_t need(std::string_view column) const;  // rejects a table without it, with the nearest name
};

// Rejects a file without a header or without rows, a row with too many or too few cells, a name used twice.
TimingTable read_timing_table(const std::filesystem::path& path);
TimingTable parse_timing_table(std::string_view text, const std::string& origin);

// The table with further columns, as CSV; a column of the same name is replaced.
struct AddedColumn {
  std::string name;
  std::vector<std::string> cells;
};
std::string to_csv(const TimingTable& table, const std::vector<AddedColumn>& added);

}  // namespace headroom
