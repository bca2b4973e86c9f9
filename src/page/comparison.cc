#include <algorithm>

#include "base/text.h"
#include "page/html.h"
#include "page/section.h"
#include "report/diff.h"

namespace headroom {
namespace {

std::string settings_list(const std::vector<DiffSetting>& settings) {
  if (settings.empty()) return "";
  std::string text = "<p>The runs differ in:</p><ul>";
  for (const DiffSetting& s : settings)
    text += fmt::format("<li>{}: {} before, {} after</li>", html_text(s.what), html_text(s.before),
                        html_text(s.after));
  return text + "</ul>";
}

// Medians with the range that noise gives them, the longest rows first.
std::string bands_chart(const std::vector<DiffRow>& rows, const char* title) {
  constexpr std::size_t kShown = 25;
  std::vector<const DiffRow*> longest;
  for (const DiffRow& row : rows)
    if (row.before.spread.median > 0 || row.after.spread.median > 0) longest.push_back(&row);
  if (longest.empty()) return "";
  std::ranges::stable_sort(longest, std::greater<>{}, [](const DiffRow* row) {
    return std::max(row->before.spread.median, row->after.spread.median);
  });
  if (longest.size() > kShown) longest.resize(kShown);
  BarChart chart{.title = title, .axis = {.label = "time", .unit = "ms"}};
  BarSeries before{.name = "before"}, after{.name = "after"};
  for (const DiffRow* row : longest) {
    chart.categories.push_back(fmt::format("{} ({})", row->name, name_of(row->change)));
    for (auto [series, side] : {std::pair{&before, &row->before}, std::pair{&after, &row->after}}) {
      const double median = side->spread.median * 1e3;
      series->values.push_back(median);
      series->low.push_back(side->known() ? side->lowest * 1e3 : median);
      series->high.push_back(side->known() ? side->highest * 1e3 : median);
    }
  }
  chart.series = {std::move(before), std::move(after)};
  chart.note =
      "The lines at the ends are the 95 % interval of the median, widened by how much parts of a run differ.";
  return figure(chart);
}

std::string two_runs(const RecordedRun& before, const RecordedRun& after) {
  const RecordDiff diff = compare_records(before, after);
  std::string text = html_facts(
      {{"before", before.name, describe(before.record)}, {"after", after.name, describe(after.record)}});
  if (diff.whole)
    text += html_facts({{diff.whole->name,
                         fmt::format("{} to {}", human_seconds(diff.whole->before.spread.median),
                                     human_seconds(diff.whole->after.spread.median)),
                         std::string(name_of(diff.whole->change))}});
  text += settings_list(diff.settings);
  text += bands_chart(diff.whole ? diff.layers : diff.cells, diff.whole ? "Layers" : "Times");
  text += html_table(diff.whole ? layer_diff_sheet(diff) : table_diff_sheet(diff.cells),
                     {.caption = "Before and after", .searchable = true});
  if (diff.whole)
    text += html_table(step_diff_sheet(diff.steps), {.caption = "Every step", .searchable = true});
  return text;
}

}  // namespace

PageSection comparison_section(const std::vector<PageRun>& runs) {
  PageSection section{"comparison", "Comparison"};
  if (runs.size() < 2) return section;
  std::vector<RecordedRun> records;
  for (const PageRun& run : runs) records.push_back({run.name, run.run.record});
  if (records.size() == 2)
    section.body = two_runs(records[0], records[1]);
  else
    section.body = html_table(runs_sheet(records), {.caption = "Every run beside the first"});
  return section;
}

}  // namespace headroom
