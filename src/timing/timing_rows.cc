#include "timing/timing_rows.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace headroom {
namespace {

std::string size_columns(const KernelForm& form) {
  std::string list;
  for (const KernelForm::Size& size : form.sizes())
    if (!size.otherwise) list += (list.empty() ? "" : ",") + size.column;
  return list;
}

double number_in(const TimingTable& table, std::size_t row, std::size_t column) {
  const std::string where =
      fmt::format("{}, line {}: column '{}'", table.origin, table.lines[row], table.columns[column]);
  return parse_double(table.rows[row][column], where);
}

// The largest number of which a double tells each whole one apart, with a margin.
constexpr double kMaxSize = 1e15;

double size_in(const TimingTable& table, std::size_t row, std::size_t column,
               const std::optional<double>& otherwise) {
  const double value = number_in(table, row, column), least = std::min(otherwise.value_or(1), 1.0);
  if (!(value >= least) || value > kMaxSize)
    reject("{}, line {}: column '{}' is {}; a size is at {} {:g}", table.origin, table.lines[row],
           table.columns[column], table.rows[row][column], value > kMaxSize ? "most" : "least",
           value > kMaxSize ? kMaxSize : least);
  if (value != std::floor(value))
    reject("{}, line {}: '{}' is {}; it must be a whole number", table.origin, table.lines[row],
           table.columns[column], table.rows[row][column]);
  return value;
}

double word_in(const TimingTable& table, std::size_t row, std::size_t column,
               const std::vector<std::string>& words) {
  const std::string& word = table.rows[row][column];
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<double>(found - words.begin());
  reject(nearest(word, words), "{}, line {}: column '{}' is '{}'; it is one of {}", table.origin,
         table.lines[row], table.columns[column], printable(word), fmt::join(words, ", "));
}

double time_in(const TimingTable& table, std::size_t row, std::size_t column, bool needed) {
  if (!needed && table.rows[row][column].empty()) return 0;
  double value = 0;
  try {
    value = number_in(table, row, column);
  } catch (const Error&) {
    value = NAN;
  }
  if (value > 0 && std::isfinite(value)) return value;
  reject(Hint{"remove the row, or correct its time"}, "{}, line {}: the time '{}' is not a number above 0",
         table.origin, table.lines[row], printable(table.rows[row][column]));
}

std::string group_in(const TimingTable& table, std::size_t row, const KernelForm& form,
                     std::optional<std::size_t> column, const std::string& given) {
  if (!column) return given.empty() ? form.groups().front() : given;
  const std::string& group = table.rows[row][*column];
  const bool known = std::ranges::find(form.groups(), group) != form.groups().end();
  if (known && (given.empty() || group == given)) return group;
  if (known)
    reject(Hint{"leave `precision` out, or correct the column"},
           "{}, line {}: `precision` is {}, but column '{}' is {}", table.origin, table.lines[row], given,
           form.group_column(), group);
  reject(nearest(group, form.groups()), "{}, line {}: the formula for {} does not know {} '{}'", table.origin,
         table.lines[row], form.name(), form.group_column(), printable(group));
}

}  // namespace

const KernelForm& form_of(const TimingTable& table) {
  const KernelForm* best = nullptr;
  std::size_t columns = 0;
  std::string known;
  for (const KernelForm* form : kernel_forms()) {
    std::size_t found = 0, needed = 0;
    for (const KernelForm::Size& size : form->sizes())
      if (!size.otherwise) ++needed, found += table.find(size.column) ? 1 : 0;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", form->name(), size_columns(*form));
    if (found == needed && found > columns) best = form, columns = found;
  }
  if (best != nullptr) return *best;
  reject(Hint{"known tables: " + known}, "{}: no formula fits its columns", table.origin);
}

std::vector<TimingRow> rows_of(const TimingTable& table, const KernelForm& form, bool need_times,
                               const std::string& group) {
  if (!group.empty() && std::ranges::find(form.groups(), group) == form.groups().end())
    reject(nearest(group, form.groups()), "the formula for {} does not know `precision` '{}'", form.name(),
           printable(group));
  std::vector<std::optional<std::size_t>> columns;
  for (const KernelForm::Size& size : form.sizes())
    columns.push_back(size.otherwise ? table.find(size.column) : table.need(size.column));
  const auto group_column = table.find(form.group_column()), device = table.find("device");
  const auto kernel = table.find("kernel_name");
  const auto us = need_times ? table.need("us") : table.find("us");
  std::vector<TimingRow> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    TimingRow row{.line = table.lines[r]};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto& [column, otherwise, words] = form.sizes()[c];
      if (!columns[c])
        row.sizes.push_back(*otherwise);
      else if (!words.empty())
        row.sizes.push_back(word_in(table, r, *columns[c], words));
      else
        row.sizes.push_back(size_in(table, r, *columns[c], otherwise));
    }
    row.group = group_in(table, r, form, group_column, group);
    if (device) row.device = table.rows[r][*device];
    if (kernel) row.kernel_name = table.rows[r][*kernel];
    if (us) row.us = time_in(table, r, *us, need_times);
    form.check(row, fmt::format("{}, line {}", table.origin, row.line));
    rows.push_back(std::move(row));
  }
  return rows;
}

Error at_line(const Error& error, const TimingTable& table, const TimingRow& row) {
  return Error(error.blame(), fmt::format("{}, line {}: {}", table.origin, row.line, error.what()),
               Hint(error.hint()));
}

}  // namespace headroom
