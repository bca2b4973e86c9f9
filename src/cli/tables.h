#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/sheet.h"
#include "cli/command.h"

namespace headroom::cli {

// How wide tables are printed, and which rows of the per-layer ones.
struct TableOptions {
  std::optional<std::int64_t> width;
  bool wide = false;
  std::string sort;
  std::optional<std::int64_t> top;
  bool summary = false;

  // The width: --width, else COLUMNS, else that of the terminal. Where standard output is not a terminal,
  // lists get 80 columns and other tables all they need.
  TableView view(bool list = false) const;
  TableView layers() const;                                            // also sorted and cut
  bool for_layers() const { return !sort.empty() || top || summary; }  // the user asked for rows of layers
};

void add_table_options(Command verb, TableOptions& tables);        // --width, --wide
void add_layer_table_options(Command verb, TableOptions& tables);  // --sort, --top, --summary

// Before the work begins: rejects a column the table lacks, and numbers out of range. `sheet` may be empty.
void require_tables(const TableOptions& tables, const Sheet& sheet);

}  // namespace headroom::cli
