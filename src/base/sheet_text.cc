// A table for people: the first column is left-aligned unless it is a share, numbers are right-aligned, rules
// stand above totals. In a narrow terminal the least important columns are left out first; then long texts
// are wrapped or cut.

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/sheet.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::size_t kGap = 2;         // blanks between columns
constexpr std::size_t kNarrowest = 12;  // a text column is not made narrower than this

struct Printed {
  std::string title;
  std::vector<std::string> cells;  // one per row
  bool left = false, text = false, wrap = false, first = false;
  int priority = 0;
  std::size_t width = 0;
  // A text is easy to read in this width. Less important columns are left out to keep it. The first column
  // holds names, which people type again.
  std::size_t comfortable() const {
    return text ? std::min<std::size_t>(width, first ? 32 : wrap ? 24 : 16) : width;
  }
  bool can_shrink() const { return text && width > kNarrowest; }
};

// The number of characters, not of bytes: continuation bytes of UTF-8 do not count.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The first characters of a text.
std::string_view head_of(std::string_view text, std::size_t characters) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;
    if (begins && characters-- == 0) break;
    ++bytes;
  }
  return text.substr(0, bytes);
}

// Names of layers differ at their ends, so the middle is cut out.
std::string cut(const std::string& text, std::size_t width) {
  const std::size_t all = width_of(text);
  if (all <= width) return text;
  const std::size_t tail = (width - 1) / 2, head = width - 1 - tail;
  const std::size_t tail_begins = head_of(text, all - tail).size();
  return fmt::format("{}…{}", head_of(text, head), text.substr(tail_begins));
}

// Lines of at most `width` characters, broken at blanks; a longer word is broken anywhere.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::string_view word : split(text, ' ')) {
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    while (width_of(word) > width) {
      const std::string_view part = head_of(word, width);
      lines.back() += part;
      lines.emplace_back();
      word.remove_prefix(part.size());
    }
    lines.back() += word;
  }
  return lines;
}

std::size_t total_width(const std::vector<Printed>& columns, std::size_t (*one)(const Printed&)) {
  std::size_t total = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (const Printed& c : columns) total += one(c);
  return total;
}

// Leaves columns out until the rest can be read, and returns their titles.
std::vector<std::string> drop_columns(std::vector<Printed>& columns, std::size_t width) {
  std::vector<std::string> dropped;
  while (total_width(columns, [](const Printed& c) { return c.comfortable(); }) > width) {
    auto worst = columns.begin();
    for (auto c = columns.begin(); c != columns.end(); ++c)
      if (c->priority >= worst->priority) worst = c;
    if (worst->priority == 0) break;
    dropped.push_back(worst->title);
    columns.erase(worst);
  }
  return dropped;
}

// Narrows the widest texts until the line fits, names last.
void narrow_texts(std::vector<Printed>& columns, std::size_t width) {
  while (total_width(columns, [](const Printed& c) { return c.width; }) > width) {
    Printed* widest = nullptr;
    for (Printed& c : columns)
      if (c.can_shrink() && (widest == nullptr || widest->first || c.width > widest->width)) widest = &c;
    if (widest == nullptr) return;
    --widest->width;
  }
}

std::string aligned(const std::string& text, const Printed& column) {
  const std::string blanks(column.width - std::min(column.width, width_of(text)), ' ');
  return column.left ? text + blanks : blanks + text;
}

Printed column_of(const Column& column, const std::vector<const Cell*>& cells,
                  std::vector<std::string> texts) {
  Printed p{.title = column.title,
            .cells = std::move(texts),
            .left = column.left,
            .text = std::ranges::any_of(
                cells, [](auto* cell) { return std::holds_alternative<std::string>(*cell); }),
            .wrap = column.wrap,
            .priority = column.priority,
            .width = width_of(column.title)};
  for (const std::string& cell : p.cells) p.width = std::max(p.width, width_of(cell));
  return p;
}

// Makes the columns fit a width, and returns the titles of those that were left out.
std::vector<std::string> fit(std::vector<Printed>& columns, int width) {
  if (width <= 0) return {};
  std::vector<std::string> dropped = drop_columns(columns, static_cast<std::size_t>(width));
  narrow_texts(columns, static_cast<std::size_t>(width));
  return dropped;
}

// Cells side by side, as several lines if one is wrapped.
std::string side_by_side(const std::vector<Printed>& columns, const std::vector<const std::string*>& cells) {
  std::vector<std::vector<std::string>> parts;
  std::size_t height = 1;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool wraps = columns[c].wrap && width_of(*cells[c]) > columns[c].width;
    parts.push_back(wraps ? wrapped(*cells[c], columns[c].width)
                          : std::vector<std::string>{cut(*cells[c], columns[c].width)});
    height = std::max(height, parts.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c)
      line +=
          std::string(c > 0 ? kGap : 0, ' ') + aligned(i < parts[c].size() ? parts[c][i] : "", columns[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string header_of(const std::vector<Printed>& columns) {
  std::vector<const std::string*> cells;
  for (const Printed& c : columns) cells.push_back(&c.title);
  return side_by_side(columns, cells);
}

std::string lines_of(const std::vector<Printed>& columns, std::size_t row) {
  std::vector<const std::string*> cells;
  for (const Printed& c : columns) cells.push_back(&c.cells[row]);
  return side_by_side(columns, cells);
}

std::string note_below(const std::vector<std::string>& dropped, const std::vector<Printed>& columns,
                       const TableView& view) {
  const bool was_cut = std::ranges::any_of(columns, [](const Printed& c) {
    return !c.wrap && std::ranges::any_of(c.cells, [&](auto& cell) { return width_of(cell) > c.width; });
  });
  if (dropped.empty() && !was_cut) return "";
  std::string text = fmt::format("At {} columns", view.width);
  if (!dropped.empty()) text += fmt::format(" without {}", fmt::join(dropped, ", "));
  if (was_cut) text += fmt::format("{}long texts are cut (…)", dropped.empty() ? ", " : "; ");
  return text + (view.remedy.empty() ? ".\n" : fmt::format("; {}.\n", view.remedy));
}

// "forward ms", "forward-ms" and "forward_ms" name the same column.
std::string plain_name(std::string name) {
  for (char& c : name) c = c == '-' || c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return name;
}

// Numbers fall, texts rise, empty cells come last.
bool goes_before(const Cell& a, const Cell& b) {
  const auto number = [](const Cell& cell) -> std::optional<double> {
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return double(*count);
    if (const auto* value = std::get_if<double>(&cell)) return *value;
    return {};
  };
  const auto x = number(a), y = number(b);
  if (x && y) return *x > *y;
  if (x || y) return x.has_value();
  const auto *s = std::get_if<std::string>(&a), *t = std::get_if<std::string>(&b);
  return s != nullptr && (t == nullptr || *s < *t);
}

}  // namespace

std::string paragraph(std::string_view text, const TableView& view) {
  constexpr int kReadable = 100;
  const int width = view.width == 0 ? kReadable : std::min(view.width, kReadable);
  return fmt::format("{}\n", fmt::join(wrapped(std::string(text), static_cast<std::size_t>(width)), "\n"));
}

namespace {

bool is_called(const Column& column, const std::string& name) {
  return !column.title.empty() && (plain_name(column.title) == plain_name(name) || column.key == name);
}

}  // namespace

bool Sheet::has_column(const std::string& name) const {
  return std::ranges::any_of(columns_, [&](const Column& c) { return is_called(c, name); });
}

std::size_t Sheet::sort_column(const std::string& name) const {
  std::vector<std::string> titles;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (is_called(columns_[c], name)) return c;
    if (!columns_[c].title.empty()) titles.push_back(columns_[c].title);
  }
  reject(nearest(name, titles), "`sort` is '{}'; the table has no such column", name);
}

// The rows to print; sums stay last and in order, so that the table adds up however it is sorted or cut.
std::vector<const Sheet::Row*> Sheet::rows_for(const TableView& view) const {
  std::vector<const Row*> rows, sums;
  for (std::size_t r = 0; r < rows_.size(); ++r) (is_sum(r) ? sums : rows).push_back(&rows_[r]);
  if (view.summary && !sums.empty()) rows.clear();
  if (!view.sort.empty()) {
    const std::size_t column = sort_column(view.sort);
    std::ranges::stable_sort(
        rows, [&](const Row* a, const Row* b) { return goes_before(a->cells[column], b->cells[column]); });
  }
  if (view.top > 0 && std::ssize(rows) > view.top) rows.resize(static_cast<std::size_t>(view.top));
  rows.insert(rows.end(), sums.begin(), sums.end());
  return rows;
}

std::string Sheet::text(const TableView& view) const {
  const std::vector<const Row*> rows = rows_for(view);
  std::vector<Printed> columns;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].title.empty()) continue;
    std::vector<const Cell*> cells;
    std::vector<std::string> texts;
    for (const Row* row : rows) {
      cells.push_back(&row->cells[c]);
      texts.push_back(printable(printed(row->cells[c], columns_[c])));
    }
    columns.push_back(column_of(columns_[c], cells, std::move(texts)));
  }
  if (!columns.empty()) columns.front().first = true;
  if (!columns.empty()) columns.front().left = columns_.front().unit != "%";
  const std::vector<std::string> dropped = fit(columns, view.width);
  const std::string rule =
      std::string(total_width(columns, [](const Printed& c) { return c.width; }), '-') + "\n";
  std::string text = header_of(columns) + rule;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool stays = view.sort.empty() || is_sum(static_cast<std::size_t>(rows[r] - rows_.data()));
    if (rows[r]->after_rule && r > 0 && stays) text += rule;
    text += lines_of(columns, r);
  }
  return text + note_below(dropped, columns, view);
}

}  // namespace headroom
