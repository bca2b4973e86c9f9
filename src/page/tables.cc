// Sections that show tables as they are: of ranks, of benchmarks, of the machine and the command.
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "page/html.h"
#include "page/section.h"
#include "report/gpu_sample_sheets.h"
#include "report/profile_run_sheet.h"

namespace headroom {
namespace {

// The texts before a row's first number name it.
std::string name_of_row(const Sheet& sheet, std::size_t row) {
  std::string name;
  for (const Cell& cell : sheet.cells(row)) {
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr || text->empty()) break;
    name += (name.empty() ? "" : ", ") + *text;
    if (name.size() > 40) break;
  }
  return name;
}

double positive_or_nan(const Cell& cell) {
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr && std::isfinite(*number) && *number > 0 ? *number : NAN;
}

// The first column of times, as bars: a ladder, or the rows of a workload.
std::string bars_of(const Sheet& sheet) {
  const auto column = std::ranges::find_if(sheet.columns(), [](const Column& c) {
    return !c.title.empty() && (c.unit == "ms" || c.unit == "us" || c.unit == "s");
  });
  constexpr std::size_t kMaxBars = 40;
  if (column == sheet.columns().end() || sheet.rows() < 2 || sheet.rows() > kMaxBars) return "";
  BarChart chart{.title = sheet.name(),
                 .axis = {.label = column->title, .unit = "", .scale = AxisScale::log}};
  BarSeries series{.name = column->title};
  for (std::size_t row = 0; row < sheet.rows(); ++row) {
    const std::string name = name_of_row(sheet, row);
    const double value = positive_or_nan(sheet.at(row, column->key));
    if (sheet.is_total(row) || name.empty() || std::isnan(value)) continue;
    chart.categories.push_back(name);
    series.values.push_back(value);
  }
  if (series.values.size() < 2) return "";
  chart.series.push_back(std::move(series));
  return figure(chart);
}

Sheet each_rank(const Json& ranks) {
  using enum Column::Format;
  Sheet sheet("ranks", {{.key = "rank", .title = "rank"},
                        {.key = "step_ms", .title = "step ms", .unit = "ms"},
                        {.key = "compute_ms", .title = "compute ms", .unit = "ms"},
                        {.key = "exchange_ms", .title = "exchange ms", .unit = "ms"},
                        {.key = "hidden_ms", .title = "hidden ms", .unit = "ms"},
                        {.key = "exposed_ms", .title = "exposed ms", .unit = "ms"},
                        {.key = "stored_bytes", .title = "stored", .format = bytes}});
  std::int64_t number = 0;
  for (const Json& rank : ranks.value("each", Json::array())) {
    const auto value = [&](const char* key) {
      return rank.contains(key) ? Cell(rank.at(key).get<double>()) : Cell();
    };
    sheet.row({number++, value("step_ms"), value("compute_ms"), value("exchange_ms"), value("hidden_ms"),
               value("exposed_ms"), value("stored_bytes")});
  }
  return sheet;
}

Sheet ceilings(const Machine& machine) {
  Sheet sheet("ceilings",
              {{.key = "what", .title = "ceiling"}, {.key = "value", .title = "value", .left = true}});
  for (const auto& [unit, rate] : machine.peak_flops) sheet.row({unit, si(rate, "FLOP/s")});
  for (const Machine::Level& level : machine.levels)
    if (level.bytes_per_s > 0) sheet.row({level.name, si(level.bytes_per_s, "B/s")});
  if (machine.launch.host_s > 0) sheet.row({std::string("launch"), human_seconds(machine.launch.host_s)});
  return sheet;
}

std::string quoted_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = word.find_first_of(" \t\"'$`\\*?;&|<>()") == std::string::npos && !word.empty();
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

}  // namespace

PageSection ranks_section(const PageRun& page) {
  const Json& ranks = page.run.record.ranks;
  PageSection section{"ranks", "Ranks"};
  if (!ranks.is_object()) return section;
  section.body =
      html_table(each_rank(ranks), {.caption = "A step on each rank", .bars = {"step_ms", "exposed_ms"}});
  return section;
}

PageSection tables_section(const PageRun& page) {
  PageSection section{"tables", "Tables"};
  for (const Sheet& sheet : page.run.record.tables)
    if (sheet.name() != kSampledStep)  // the timeline charts it
      section.body +=
          bars_of(sheet) + html_table(sheet, {.caption = sheet.name(), .searchable = sheet.rows() > 8});
  return section;
}

PageSection origin_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"origin", "Machine and command"};
  std::vector<SummaryFact> facts = {{"command", quoted_command(r.command)},
                                    {"time", r.time},
                                    {"headroom", r.program, "commit " + r.commit},
                                    {"compiler", r.compiler}};
  if (r.machine)
    facts.push_back({"machine", r.machine->title, r.machine->measured ? "measured" : "datasheet"});
  section.body = html_facts(facts);
  if (r.machine) section.body += html_table(ceilings(*r.machine), {.caption = "Ceilings"});
  if (!page.run.facts.empty())
    section.body += html_table(run_sheet(page.run.facts), {.caption = "The run", .searchable = true});
  return section;
}

}  // namespace headroom
