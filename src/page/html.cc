#include "page/html.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/json.h"
#include "report/chart_canvas.h"

namespace headroom {
namespace {

std::optional<double> number_in(const Cell& cell) {
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return double(*count);
  if (const auto* number = std::get_if<double>(&cell); number != nullptr && std::isfinite(*number))
    return *number;
  return {};
}

// The largest value of each column with bars, totals left out.
std::map<std::string, double> largest_values(const Sheet& sheet, const std::vector<std::string>& keys) {
  std::map<std::string, double> largest;
  for (const std::string& key : keys) {
    if (!sheet.has_column(key)) continue;
    for (std::size_t row = 0; row < sheet.rows(); ++row)
      if (!sheet.is_sum(row))
        largest[key] = std::max(largest[key], number_in(sheet.at(row, key)).value_or(0));
  }
  return largest;
}

std::string head_of(const Column& column, bool first) {
  return fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
                     column.left || first ? " class=\"text\"" : "", html_text(column.title));
}

std::string cell_of(const Cell& cell, const Column& column, bool first, double largest) {
  const std::optional<double> number = number_in(cell);
  std::string attributes;
  if (column.left || first) attributes += " class=\"text\"";
  if (number) attributes += fmt::format(" data-value=\"{:.17g}\"", *number);
  if (number && largest > 0)
    attributes +=
        fmt::format(" style=\"background-size:{:.1f}% 72%\"", 100 * std::clamp(*number / largest, 0.0, 1.0));
  const char* tag = first ? "th scope=\"row\"" : "td";
  return fmt::format("<{}{}>{}</{}>", tag, attributes, html_text(Sheet::printed(cell, column)),
                     first ? "th" : "td");
}

Json axis_json(const ChartAxis& axis) {
  return {{"label", axis.label},
          {"unit", axis.unit},
          {"log", axis.scale == AxisScale::log},
          {"shows", axis.shows}};
}

// Six digits are more than a screen shows.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

Json points_json(const LineSeries& series) {
  Json points = Json::array();
  for (const LineSeries::Point& point : series.points) {
    const bool gap = std::isnan(point.x) || std::isnan(point.y);
    points.push_back(gap ? Json(nullptr) : Json{rounded(point.x), rounded(point.y)});
  }
  return points;
}

std::string figure_of(std::string_view kind, const Json& data, const std::string& picture) {
  return fmt::format("<figure class=\"chart\" data-kind=\"{}\">{}<div class=\"picture\">{}</div></figure>\n",
                     kind, json_script(data, "class=\"data\""), picture);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe = chart::escaped(text);
  for (std::size_t at = 0; (at = safe.find('\'', at)) != std::string::npos;) safe.replace(at, 1, "&#39;");
  return safe;
}

std::string html_message(std::string_view text) {
  std::string html;
  bool inside = false;
  for (const char c : html_text(text)) {
    if (c != '`')
      html += c;
    else
      html += (inside = !inside) ? "<code>--" : "</code>";
  }
  return inside ? html + "</code>" : html;
}

std::string json_script(const Json& json, std::string_view attributes) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return fmt::format("<script type=\"application/json\" {}>{}</script>", attributes, safe);
}

std::string html_table(const Sheet& sheet, const HtmlTable& options) {
  const std::map<std::string, double> largest = largest_values(sheet, options.bars);
  std::string text = "<div class=\"table\">";
  if (options.searchable)
    text +=
        fmt::format("<label class=\"search\">Search <input type=\"search\" aria-label=\"search {}\"></label>",
                    html_text(options.caption));
  text += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + html_text(options.caption) +
          "\"><table>";
  if (!options.caption.empty()) text += fmt::format("<caption>{}</caption>", html_text(options.caption));
  text += "<thead><tr>";
  const std::vector<Column>& columns = sheet.columns();
  bool first = true;
  for (const Column& column : columns)
    if (!column.title.empty()) text += head_of(column, std::exchange(first, false));
  text += "</tr></thead><tbody>";
  for (std::size_t row = 0; row < sheet.rows(); ++row) {
    text += sheet.is_total(row) ? "\n<tr class=\"total\">"
            : sheet.is_sum(row) ? "\n<tr class=\"sum\">"
                                : "\n<tr>";
    first = true;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].title.empty()) continue;
      const auto bar = largest.find(columns[c].key);
      text += cell_of(sheet.cells(row)[c], columns[c], std::exchange(first, false),
                      bar == largest.end() || sheet.is_sum(row) ? 0 : bar->second);
    }
    text += "</tr>";
  }
  return text + "</tbody></table></div></div>\n";
}

std::string html_facts(const std::vector<SummaryFact>& facts) {
  std::string text = "<dl class=\"facts\">";
  for (const SummaryFact& fact : facts) {
    const std::string id = fact.id.empty() ? "" : fmt::format(" id=\"{}\"", html_text(fact.id));
    text +=
        fmt::format("<div><dt>{}</dt><dd><span{}>{}</span>", html_text(fact.name), id, html_text(fact.value));
    if (!fact.note.empty()) text += fmt::format(" <small>{}</small>", html_text(fact.note));
    text += "</dd></div>";
  }
  return text + "</dl>\n";
}

std::string figure(const BarChart& chart) {
  return fmt::format("<figure class=\"chart\"><div class=\"picture\">{}</div></figure>\n", svg(chart));
}

std::string figure(const LineChart& chart) {
  Json series = Json::array();
  for (const LineSeries& s : chart.series) series.push_back({{"name", s.name}, {"points", points_json(s)}});
  return figure_of(
      "lines",
      {{"title", chart.title}, {"x", axis_json(chart.x)}, {"y", axis_json(chart.y)}, {"series", series}},
      svg(chart));
}

std::string figure(const BlockChart& chart) {
  // A name is written once.
  std::map<std::string, std::size_t> numbers;
  Json names = Json::array(), blocks = Json::array();
  for (const BlockChart::Block& block : chart.blocks) {
    const std::string name = block.tip.empty() ? block.name : block.name + "\n" + block.tip;
    const auto [it, is_new] = numbers.try_emplace(name, numbers.size());
    if (is_new) names.push_back(name);
    blocks.push_back({block.row, rounded(block.begin), rounded(block.end), block.colour, it->second});
  }
  return figure_of("blocks",
                   {{"title", chart.title},
                    {"x", axis_json(chart.axis)},
                    {"rows", chart.rows},
                    {"colours", chart.colours},
                    {"names", names},
                    {"blocks", blocks}},
                   svg(chart));
}

std::string figure(const ScatterChart& chart) {
  Json points = Json::array(), lines = Json::array();
  for (const ScatterChart::Point& p : chart.points)
    points.push_back({{"x", rounded(p.x)},
                      {"y", rounded(p.y)},
                      {"size", rounded(p.size)},
                      {"series", p.series},
                      {"name", p.name},
                      {"tip", p.tip}});
  for (const LineSeries& line : chart.lines)
    lines.push_back({{"name", line.name}, {"points", points_json(line)}, {"dashed", line.dashed}});
  return figure_of("scatter",
                   {{"title", chart.title},
                    {"x", axis_json(chart.x)},
                    {"y", axis_json(chart.y)},
                    {"series", chart.series},
                    {"points", points},
                    {"lines", lines}},
                   svg(chart));
}

}  // namespace headroom
