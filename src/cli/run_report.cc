#include "cli/run_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "cli/options.h"

namespace headroom::cli {
namespace {

struct Summary {
  double min = 0, mean = 0, max = 0;
};

Summary summary_of(const std::vector<double>& values) {
  if (values.empty()) return {NAN, NAN, NAN};
  Summary s{values[0], 0, values[0]};
  for (const double v : values) {
    s.min = v < s.min || std::isnan(v) ? v : s.min;
    s.max = v > s.max || std::isnan(v) ? v : s.max;
    s.mean += v / double(values.size());
  }
  return s;
}

constexpr std::int64_t kShown = 8;  // values, and rows of classes

std::vector<std::string> first_values(const NamedTensor& output) {
  std::vector<std::string> list;
  for (std::int64_t i = 0; i < std::min(kShown, output.type.shape.numel()); ++i)
    list.push_back(text_at(output, i));
  return list;
}

// One row of scores per item counts as a classifier.
bool is_classifier(const NamedTensor& output, std::int64_t items) {
  const Shape& shape = output.type.shape;
  return shape.rank() == 2 && shape[0] > 0 && shape[0] == items && shape[1] > 1 &&
         is_float(output.type.dtype);
}

std::vector<std::int64_t> top_of(const std::vector<double>& values, std::int64_t row, std::int64_t columns) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  const auto top = order.begin() + std::min<std::int64_t>(5, columns);
  const double* scores = values.data() + row * columns;
  auto score = [&](std::int64_t c) { return std::isnan(scores[c]) ? -INFINITY : scores[c]; };
  std::partial_sort(order.begin(), top, order.end(), [&](std::int64_t a, std::int64_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  });
  return {order.begin(), top};
}

void print_top(const NamedTensor& output) {
  const std::int64_t rows = output.type.shape[0], columns = output.type.shape[1];
  const std::vector<double> values = values_of(output);
  print(fmt::format("\n{}: best classes of each item\n", output.name));
  for (std::int64_t row = 0; row < std::min(rows, kShown); ++row) {
    std::string line;
    for (const std::int64_t c : top_of(values, row, columns))
      line += fmt::format("{}{} ({:.4g})", line.empty() ? "" : ", ", c,
                          values[static_cast<std::size_t>(row * columns + c)]);
    print(fmt::format("  {}: {}\n", row, line));
  }
  if (rows > kShown) print(fmt::format("  … and {} more\n", rows - kShown));
}

}  // namespace

void print_outputs(const std::vector<NamedTensor>& outputs, std::int64_t items, const TableView& view) {
  using enum Column::Format;
  Sheet sheet("outputs", {{.key = "output", .title = "output"},
                          {.key = "type", .title = "type", .left = true},
                          {.key = "shape", .title = "shape", .left = true},
                          {.key = "min", .title = "min", .format = six_digits},
                          {.key = "mean", .title = "mean", .format = six_digits, .priority = 2},
                          {.key = "max", .title = "max", .format = six_digits},
                          {.key = "values", .title = "first values", .left = true, .priority = 1}});
  for (const NamedTensor& output : outputs) {
    const Summary s = summary_of(values_of(output));
    const bool more = output.type.shape.numel() > kShown;
    sheet.row({output.name, std::string(name_of(output.type.dtype)), output.type.shape.str(), s.min, s.mean,
               s.max, fmt::format("{}{}", fmt::join(first_values(output), " "), more ? " …" : "")});
  }
  print(sheet.text(view));
  for (const NamedTensor& output : outputs)
    if (is_classifier(output, items)) print_top(output);
}

Json output_json(const NamedTensor& output, std::int64_t items) {
  const std::vector<double> values = values_of(output);
  const Summary s = summary_of(values);
  Json json = {
      {"name", output.name},
      {"type", name_of(output.type.dtype)},
      {"shape", output.type.shape.vector()},
      {"min", s.min},
      {"mean", s.mean},
      {"max", s.max},
      {"values", std::vector<double>(values.begin(),
                                     values.begin() + std::min<std::ptrdiff_t>(kShown, std::ssize(values)))}};
  if (!is_classifier(output, items)) return json;
  Json top = Json::array();
  for (std::int64_t row = 0; row < output.type.shape[0]; ++row)
    top.push_back(top_of(values, row, output.type.shape[1]));
  json["top"] = top;
  return json;
}

std::string Compared::str() const {
  const Difference& d = difference;
  if (!d.mismatch.empty()) return fmt::format("'{}' {}", name, d.mismatch);
  return fmt::format(
      "'{}' differs in {} of {} elements; the worst is [{}]: got {:.9g}, wanted {:.9g}, off by {:.3g}", name,
      d.wrong, d.elements, fmt::join(position_of(d.worst, shape), ", "), d.got, d.wanted, d.error);
}

void print_compared(const std::vector<Compared>& list) {
  if (list.empty()) return;
  print("\n");
  for (const Compared& c : list)
    if (c.difference.passed())
      print(fmt::format("'{}' is as expected: {}, max error {:.3g}\n", c.name,
                        counted(c.difference.elements, "element"), c.difference.error));
}

Json compared_json(const Compared& c) {
  const Difference& d = c.difference;
  Json json = {{"name", c.name}, {"passed", d.passed()}};
  if (!d.mismatch.empty()) {
    json["mismatch"] = d.mismatch;
    return json;
  }
  json.update({{"elements", d.elements}, {"wrong", d.wrong}});
  if (d.worst >= 0)
    json["worst"] = {
        {"index", position_of(d.worst, c.shape)}, {"got", d.got}, {"wanted", d.wanted}, {"error", d.error}};
  return json;
}

}  // namespace headroom::cli
