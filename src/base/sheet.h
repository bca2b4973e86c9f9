#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_fwd.h"
#include "base/table_view.h"

namespace headroom {

// One typed table: columns with units, rows of numbers and texts. The printed table, CSV and JSON show the
// same cells.
struct Column {
  // The printed format of a number; CSV and JSON hold it in full.
  enum class Format {
    plain,
    commas,
    tenths,
    hundredths,
    thousandths,
    ten_thousandths,
    millionths,
    scientific,
    scientific_hundredths,
    six_digits,
    si,
    bytes,
    seconds
  };

  std::string key;    // in CSV and JSON: "forward_ms"
  std::string title;  // printed: "forward ms"; empty: not printed
  std::string unit = {};
  Format format = Format::plain;
  bool left = false;       // left-aligned; the first column always is
  bool dash_zero = false;  // prints 0 as "-"
  bool wrap = false;       // in a narrow terminal a long text is wrapped; without this it is cut
  int priority = 0;        // in a narrow terminal the highest goes first; 0: never left out
};

// An empty cell is "-" in print, empty in CSV and null in JSON.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;
// An empty cell if the number is unknown or not above 0.
Cell known(double value);

// Prose beside a table, in lines of the view's width, at most 100 characters. Ends with a line break.
std::string paragraph(std::string_view text, const TableView& view);

class Sheet {
 public:
  Sheet() = default;
  Sheet(std::string name, std::vector<Column> columns)
      : name_(std::move(name)), columns_(std::move(columns)) {}

  void row(std::vector<Cell> cells);    // one per column
  void total(std::vector<Cell> cells);  // a row below a rule
  // A line before the next row. In a table with a total, rows after it are sums: they are neither sorted nor
  // left out.
  void rule();

  const std::string& name() const { return name_; }
  const std::vector<Column>& columns() const { return columns_; }
  std::size_t rows() const { return rows_.size(); }
  const Cell& at(std::size_t row, const std::string& key) const;  // fails for an unknown key
  const std::vector<Cell>& cells(std::size_t row) const { return rows_.at(row).cells; }
  bool is_total(std::size_t row) const { return rows_.at(row).is_total; }
  bool is_sum(std::size_t row) const;  // a total, or a row between a rule and the total
  static std::string printed(const Cell& cell, const Column& column);  // as in the printed table

  std::string text(const TableView& view = {}) const;
  bool has_column(const std::string& name) const;
  std::size_t sort_column(const std::string& name) const;  // by key or title; rejects an unknown name
  std::string csv() const;  // a header of keys; texts with commas or quotes are quoted
  Json objects() const;     // rows as objects by key, without empty cells and totals
  Json to_json() const;     // name, columns with their units, rows; from_json reads it
  static Sheet from_json(const Json& json, const std::string& origin);
  bool operator==(const Sheet& other) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    bool is_total = false, after_rule = false;
  };
  std::vector<const Row*> rows_for(const TableView& view) const;

  std::string name_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
  bool rule_ = false;
};

}  // namespace headroom
