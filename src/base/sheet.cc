#include "base/sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/units.h"

namespace headroom {
namespace {

constexpr std::array<std::pair<Column::Format, std::string_view>, 13> kFormats = {
    {{Column::Format::plain, "plain"},
     {Column::Format::commas, "commas"},
     {Column::Format::tenths, "tenths"},
     {Column::Format::hundredths, "hundredths"},
     {Column::Format::thousandths, "thousandths"},
     {Column::Format::ten_thousandths, "ten_thousandths"},
     {Column::Format::millionths, "millionths"},
     {Column::Format::scientific, "scientific"},
     {Column::Format::scientific_hundredths, "scientific_hundredths"},
     {Column::Format::six_digits, "six_digits"},
     {Column::Format::si, "si"},
     {Column::Format::bytes, "bytes"},
     {Column::Format::seconds, "seconds"}}};

std::string_view format_name(Column::Format format) {
  for (const auto& [known_format, name] : kFormats)
    if (known_format == format) return name;
  return "plain";
}

Column::Format format_named(const std::string& name) {
  for (const auto& [format, known_name] : kFormats)
    if (known_name == name) return format;
  return Column::Format::plain;
}

std::string number_text(double value, const Column& column) {
  if (!std::isfinite(value)) return "-";
  switch (column.format) {
    case Column::Format::commas:
      return with_commas(std::llround(value));
    case Column::Format::tenths:
      return fmt::format("{:.1f}", value);
    case Column::Format::hundredths:
      return fmt::format("{:.2f}", value);
    case Column::Format::thousandths:
      return fmt::format("{:.3f}", value);
    case Column::Format::ten_thousandths:
      return fmt::format("{:.4f}", value);
    case Column::Format::millionths:
      return fmt::format("{:.6f}", value);
    case Column::Format::scientific:
      return fmt::format("{:.1e}", value);
    case Column::Format::scientific_hundredths:
      return fmt::format("{:.2e}", value);
    case Column::Format::six_digits:
      return fmt::format("{:.6g}", value);
    case Column::Format::si:
      return si(value, column.unit.c_str());
    case Column::Format::bytes:
      return human_bytes(value);
    case Column::Format::seconds:
      return human_seconds(value);
    case Column::Format::plain:
      break;
  }
  return fixed_or_small(value);
}

std::string for_csv(const Cell& cell) {
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return "";
  if (text->find_first_of(",\"\n\r") == std::string::npos) return *text;
  std::string quoted = "\"";
  for (const char c : *text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

Json for_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return *count;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

Cell cell_from(const Json& json, const std::string& origin) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  reject("{}: a cell of a table is {}, not a text or a number", origin, json.type_name());
}

}  // namespace

Cell known(double value) { return value > 0 ? Cell(value) : Cell(); }

void Sheet::row(std::vector<Cell> cells) {
  if (cells.size() != columns_.size())
    fail("table '{}': a row of {} cells for {} columns", name_, cells.size(), columns_.size());
  rows_.push_back({std::move(cells), false, std::exchange(rule_, false)});
}

void Sheet::total(std::vector<Cell> cells) {
  rule_ = rows_.empty() || !rows_.back().is_total;
  row(std::move(cells));
  rows_.back().is_total = true;
}

void Sheet::rule() { rule_ = true; }

const Cell& Sheet::at(std::size_t row, const std::string& key) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].key == key) return rows_.at(row).cells[c];
  fail("table '{}' has no column '{}'", name_, key);
}

bool Sheet::is_sum(std::size_t row) const {
  if (!rows_.back().is_total) return false;  // its rules part groups
  const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(row) + 1;
  return rows_.at(row).is_total || std::any_of(rows_.begin(), end, [](const Row& r) { return r.after_rule; });
}

std::string Sheet::printed(const Cell& cell, const Column& column) {
  if (column.dash_zero && (cell == Cell(0.0) || cell == Cell(std::int64_t{0}))) return "-";
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&cell))
    return column.format == Column::Format::plain ? std::to_string(*count)
                                                  : number_text(double(*count), column);
  if (const auto* number = std::get_if<double>(&cell)) return number_text(*number, column);
  return "-";
}

std::string Sheet::csv() const {
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) text += (c > 0 ? "," : "") + for_csv(columns_[c].key);
  text += "\n";
  for (const Row& row : rows_) {
    for (std::size_t c = 0; c < row.cells.size(); ++c) text += (c > 0 ? "," : "") + for_csv(row.cells[c]);
    text += "\n";
  }
  return text;
}

Json Sheet::objects() const {
  Json list = Json::array();
  for (const Row& row : rows_) {
    if (row.is_total) continue;
    Json item = Json::object();
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      if (!std::holds_alternative<std::monostate>(row.cells[c]))
        item[columns_[c].key] = for_json(row.cells[c]);
    list.push_back(std::move(item));
  }
  return list;
}

bool Sheet::operator==(const Sheet& other) const { return to_json() == other.to_json(); }

Json Sheet::to_json() const {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& c : columns_)
    columns.push_back({{"key", c.key},
                       {"title", c.title},
                       {"unit", c.unit},
                       {"format", format_name(c.format)},
                       {"left", c.left},
                       {"dash_zero", c.dash_zero}});
  for (const Row& row : rows_) {
    Json cells = Json::array();
    for (const Cell& cell : row.cells) cells.push_back(for_json(cell));
    rows.push_back({{"cells", cells}, {"total", row.is_total}, {"rule", row.after_rule}});
  }
  return {{"name", name_}, {"columns", columns}, {"rows", rows}};
}

Sheet Sheet::from_json(const Json& json, const std::string& origin) {
  try {
    std::vector<Column> columns;
    for (const Json& c : json.at("columns"))
      columns.push_back({c.at("key"), c.at("title"), c.at("unit"), format_named(c.at("format")), c.at("left"),
                         c.at("dash_zero")});
    Sheet sheet(json.at("name"), std::move(columns));
    for (const Json& row : json.at("rows")) {
      std::vector<Cell> cells;
      for (const Json& cell : row.at("cells")) cells.push_back(cell_from(cell, origin));
      if (cells.size() != sheet.columns_.size())
        reject("{}: a row of table '{}' has {} cells for {} columns", origin, sheet.name_, cells.size(),
               sheet.columns_.size());
      sheet.rows_.push_back({std::move(cells), row.at("total").get<bool>(), row.at("rule").get<bool>()});
    }
    return sheet;
  } catch (const nlohmann::json::exception&) {
    reject("{}: a table lacks its name, columns or rows", origin);
  }
}

}  // namespace headroom
