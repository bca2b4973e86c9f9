#include "timing/timing_table.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/gzip.h"

namespace headroom {
namespace {

constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;

// Reads cells of CSV one after another; a quoted cell may hold commas, line breaks and doubled quotes.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // byte-order mark
  }

  bool done() const { return at_ >= text_.size(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> record() {
    std::vector<std::string> cells;
    do cells.push_back(cell());
    while (take(','));
    if (!take_line_end() && !done())
      reject("{}, line {}: text follows a quoted cell; a comma is missing", origin_, line_);
    ++line_;
    return cells;
  }

 private:
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // "\n", "\r\n", or "\r" alone.
  bool take_line_end() {
    const bool carriage_return = take('\r');
    return take('\n') || carriage_return;
  }
  std::string cell() {
    if (take('"')) return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string_view cell = text_.substr(at_, end - at_);
    at_ = end;
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
    while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
    return std::string(cell);
  }
  std::string quoted() {
    const std::size_t first = line_;
    std::string cell;
    while (!done()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return cell;
      if (c == '\n' || (c == '\r' && (done() || text_[at_] != '\n'))) ++line_;
      cell += c;
    }
    reject("{}, line {}: a quote is not closed", origin_, first);
  }

  std::string_view text_;
  const std::string& origin_;
  std::size_t at_ = 0, line_ = 1;
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

}  // namespace

std::optional<std::size_t> TimingTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::size_t TimingTable::need(std::string_view column) const {
  if (const auto found = find(column)) return *found;
  reject(nearest(column, columns), "{}: there is no column '{}'", origin, column);
}

TimingTable parse_timing_table(std::string_view text, const std::string& origin) {
  const Hint form{"the first line names the columns: device,dtype,m,n,k,us"};
  TimingTable table{.origin = origin, .columns = {}, .rows = {}, .lines = {}};
  CsvReader reader(text, origin);
  if (reader.done()) reject(form, "{} is empty", origin);
  table.columns = reader.record();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::string& name = table.columns[c];
    if (name.empty()) reject(form, "{}: column {} has no name", origin, c + 1);
    if (table.find(name) != c)
      reject(Hint{"give each column its own name"}, "{}: two columns are called '{}'", origin,
             printable(name));
  }
  while (!reader.done()) {
    const std::size_t line = reader.line();
    std::vector<std::string> cells = reader.record();
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (cells.size() != table.columns.size())
      reject("{}, line {}: {} for {}", origin, line, counted(static_cast<std::int64_t>(cells.size()), "cell"),
             counted(static_cast<std::int64_t>(table.columns.size()), "column"));
    table.rows.push_back(std::move(cells));
    table.lines.push_back(line);
  }
  if (table.rows.empty()) reject(form, "{} has no rows below its header", origin);
  return table;
}

TimingTable read_timing_table(const std::filesystem::path& path) {
  std::string text = read_file(path);
  if (is_gzip(text)) text = gunzip(text, path.string(), kMaxTableBytes);
  return parse_timing_table(text, path.string());
}

std::string to_csv(const TimingTable& table, const std::vector<AddedColumn>& added) {
  const auto replaced = [&](const std::string& name) {
    return std::ranges::find(added, name, &AddedColumn::name) != added.end();
  };
  std::string text;
  const auto line = [&](const auto& cell_of_column, const auto& cell_of_added) {
    bool first = true;
    const auto put = [&](const std::string& cell) {
      if (!first) text += ',';
      first = false;
      text += csv_cell(cell);
    };
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (!replaced(table.columns[c])) put(cell_of_column(c));
    for (const AddedColumn& column : added) put(cell_of_added(column));
    text += '\n';
  };
  line([&](std::size_t c) { return table.columns[c]; }, [](const AddedColumn& a) { return a.name; });
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    line([&](std::size_t c) { return table.rows[r][c]; }, [&](const AddedColumn& a) { return a.cells[r]; });
  return text;
}

}  // namespace headroom
