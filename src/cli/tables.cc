#include "cli/tables.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace headroom::cli {
namespace {

constexpr int kListWidth = 80;
constexpr std::int64_t kNarrowest = 20, kWidest = 10'000;

// A COLUMNS that is not a sensible number is ignored: the user may not know that it is set.
int from_environment() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  try {
    const std::int64_t columns = parse_int(text, "COLUMNS");
    return columns >= kNarrowest && columns <= kWidest ? static_cast<int>(columns) : 0;
  } catch (const Error&) {
    return 0;
  }
}

int from_terminal() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col >= kNarrowest ? size.ws_col : 0;
}

}  // namespace

TableView TableOptions::view(bool list) const {
  TableView view{.width = 0, .remedy = "--wide shows all"};
  if (width && wide) reject(Hint{"give only one of the two"}, "--width and --wide exclude each other");
  if (wide) return view;
  if (width) {
    if (*width < kNarrowest || *width > kWidest)
      reject("--width is {}; it must lie between {} and {}", *width, kNarrowest, kWidest);
    view.width = static_cast<int>(*width);
    return view;
  }
  view.width = from_environment();
  if (view.width == 0) view.width = from_terminal();
  if (view.width == 0 && list) view.width = kListWidth;
  return view;
}

TableView TableOptions::layers() const {
  TableView chosen = view();
  chosen.sort = sort;
  chosen.top = top.value_or(0);
  chosen.summary = summary;
  return chosen;
}

void add_table_options(Command verb, TableOptions& tables) {
  verb.option("--width", tables.width, "columns to print tables in; else COLUMNS, else the terminal's");
  verb.flag("--wide", tables.wide, "print every column of a table, however long its lines");
}

void add_layer_table_options(Command verb, TableOptions& tables) {
  verb.option("--sort", tables.sort, "sort the table by a column, largest first: --sort 'forward ms'");
  verb.option("--top", tables.top, "print only the first N rows of the table, and the total");
  verb.flag("--summary", tables.summary, "print only the total of the table");
}

void require_tables(const TableOptions& tables, const Sheet& sheet) {
  tables.view();  // rejects a width out of range
  if (!tables.sort.empty()) sheet.sort_column(tables.sort);
  if (tables.top && *tables.top < 1) reject("--top is {}; it must be at least 1", *tables.top);
}

}  // namespace headroom::cli
