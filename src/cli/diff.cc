// Compares run records: two of them by layer and kernel, more of them run by run.
#include "report/diff.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "cli/charts.h"
#include "cli/options.h"
#include "cli/record_files.h"
#include "cli/verbs.h"
#include "report/ratio_diff.h"

namespace headroom::cli {
namespace {

struct DiffRequest {
  std::vector<std::string> runs, without;
  std::string fail_over, svg;
  bool csv = false, layers = false, kernels = false;
  Common common;
};

// "5%" and "0.05" as 0.05. A bare 5 would be 500 %, which nobody means.
double allowed_share(const std::string& text) {
  const bool in_percent = text.ends_with("%");
  const Hint hint{"write `fail-over` 5% or `fail-over` 0.05"};
  double share = 0;
  try {
    share = parse_double(in_percent ? text.substr(0, text.size() - 1) : text, "--fail-over");
  } catch (const Error&) {
    reject(hint, "--fail-over is '{}', which is not a share", text);
  }
  if (in_percent) share /= 100;
  if (!(share > 0)) reject(hint, "--fail-over is {}; it must be above 0", text);
  if (!in_percent && share >= 1) reject(hint, "--fail-over is {}, which is {:g} %", text, 100 * share);
  return share;
}

// A file, or a folder with a record.json.
RecordedRun read_run(const std::string& name) { return {name, read_record(record_path(name))}; }

std::vector<std::string> chosen_runs(const DiffRequest& r) {
  const auto same_path = [](const std::string& a, const std::string& b) {
    return std::filesystem::path(a).lexically_normal() == std::filesystem::path(b).lexically_normal();
  };
  std::vector<std::string> chosen = r.runs;
  for (const std::string& left_out : r.without) {
    const auto is_it = [&](const std::string& run) { return same_path(run, left_out); };
    if (std::ranges::none_of(r.runs, is_it))
      reject(nearest(left_out, r.runs), "--without '{}' is not one of the given runs", left_out);
    std::erase_if(chosen, is_it);
  }
  if (chosen.size() < 2)
    reject(Hint{"headroom diff before.json after.json"}, "a comparison needs two runs; {}",
           !r.without.empty() ? fmt::format("--without leaves {}", chosen.size())
           : r.runs.empty()   ? "none was given"
                              : "only one was given");
  return chosen;
}

// The rows that --fail-over judges.
std::vector<const DiffRow*> gated(const RecordDiff& diff, bool layers) {
  std::vector<const DiffRow*> rows;
  if (diff.whole) rows.push_back(&*diff.whole);
  if (layers)
    for (const DiffRow& row : diff.layers) rows.push_back(&row);
  for (const DiffRow& row : diff.cells) rows.push_back(&row);
  return rows;
}

struct Gate {
  double share = 0;     // 0: no gate
  std::string offence;  // a sentence about the worst row
  double worst = 0;     // its percent

  void check(const std::string& run, const RecordDiff& diff, bool layers) {
    for (const DiffRow* row : gated(diff, layers)) {
      const double percent = row->percent().value_or(0);
      if (share == 0 || percent <= 100 * share) continue;
      const std::string what = row->what.empty() ? row->name : row->name + ", " + row->what;
      const std::string text = fmt::format("{}: {} is {:.1f} % slower", run, what, percent);
      if (row->change == Change::unsure)
        warn(fmt::format("{}, but this may be noise: it does not count", text));
      if (row->change != Change::slower || percent <= worst) continue;
      worst = percent, offence = text;
    }
  }
};

TableView view_for(const Sheet& sheet, const Common& common) {
  TableView view = common.tables.layers();
  if (!view.sort.empty() && !sheet.has_column(view.sort)) view.sort.clear();
  return view;
}

std::string settings_text(const std::vector<DiffSetting>& settings) {
  if (settings.empty()) return "";
  std::vector<std::string> parts;
  for (const DiffSetting& s : settings)
    parts.push_back(fmt::format("{} {} and {}", s.what, s.before, s.after));
  return fmt::format("The runs differ: {}.\n", fmt::join(parts, "; "));
}

// Every step, or those that changed: networks have hundreds.
void print_steps(const std::vector<DiffRow>& steps, const DiffRequest& r) {
  std::vector<DiffRow> shown = steps;
  if (!r.kernels)
    std::erase_if(shown, [](const DiffRow& row) {
      return (row.change == Change::same || row.change == Change::unsure) &&
             row.kernel.find(" -> ") == std::string::npos;
    });
  if (!shown.empty()) {
    const Sheet sheet = step_diff_sheet(shown);
    print("\n" + sheet.text(view_for(sheet, r.common)));
  }
  if (const auto others = std::ssize(steps) - std::ssize(shown); others > 0)
    print(fmt::format("\n{} did not change beyond noise; --kernels lists all.\n",
                      counted(others, shown.empty() ? "step" : "other step")));
}

void print_two(const RecordedRun& before, const RecordedRun& after, const RecordDiff& diff,
               const DiffRequest& r) {
  const Sheet main = diff.whole ? layer_diff_sheet(diff) : table_diff_sheet(diff.cells);
  if (r.csv) return print(main.csv() + (diff.whole ? "\n" + step_diff_sheet(diff.steps).csv() : ""));
  print(fmt::format("before  {}: {}\nafter   {}: {}\n{}\n", before.name, describe(before.record), after.name,
                    describe(after.record), settings_text(diff.settings)));
  print(main.text(view_for(main, r.common)));
  if (diff.whole && !r.common.tables.summary) print_steps(diff.steps, r);
  print("\n" +
        paragraph(diff.whole
                      ? "Faster, slower: the 95 % intervals of the medians do not overlap. Same: within "
                        "2 %. Unsure: too much noise or too few samples."
                      : "Faster, slower: by more than 10 %. A benchmark keeps medians without samples, "
                        "so that smaller differences are unsure.",
                  r.common.tables.view()));
}

Json runs_json(const std::vector<RecordedRun>& runs) {
  Json list = Json::array();
  for (const RecordedRun& run : runs)
    list.push_back({{"run", run.name}, {"description", describe(run.record)}});
  return list;
}

// Tables of ratios, below the times.
void print_ratios(const std::vector<RecordedRun>& runs, const DiffRequest& r) {
  const Sheet ratios = ratios_sheet(runs);
  if (ratios.rows() == 0) return;
  print("\n" + (r.csv ? ratios.csv() : ratios.text(view_for(ratios, r.common))));
}

std::vector<ChartFile> chart_files(const std::vector<RecordedRun>& runs, const std::string& file) {
  if (file.empty()) return {};
  std::vector<ChartFile> charts;
  std::vector<std::string> names;
  for (const RatioChart& ratio : ratio_charts(runs)) {
    charts.push_back({ratio.name, svg(ratio.chart)});
    names.push_back(ratio.name);
  }
  if (charts.empty())
    reject(Hint{"profile on a GPU with --counters seed, and keep the records"},
           "--svg charts ratios of counters, and none of the runs counted");
  require_svg(file, names);
  return charts;
}

void compare_two(const std::vector<RecordedRun>& runs, const DiffRequest& r, Gate& gate) {
  const RecordDiff diff = compare_records(runs[0], runs[1]);
  Json json = {{"runs", runs_json(runs)}};
  json.update(to_json(diff));
  if (const Sheet ratios = ratios_sheet(runs); ratios.rows() > 0) json["ratios"] = ratios.objects();
  if (r.common.json) {
    print_json(json);
  } else {
    print_two(runs[0], runs[1], diff, r);
    print_ratios(runs, r);
  }
  gate.check(runs[1].name, diff, r.layers);
}

void compare_many(const std::vector<RecordedRun>& runs, const DiffRequest& r, Gate& gate) {
  const Sheet sheet = runs_sheet(runs), ratios = ratios_sheet(runs);
  Json json = {{"runs", sheet.objects()}};
  if (ratios.rows() > 0) json["ratios"] = ratios.objects();
  if (r.common.json) {
    print_json(json);
  } else {
    print(r.csv ? sheet.csv() : sheet.text(view_for(sheet, r.common)));
    print_ratios(runs, r);
  }
  for (std::size_t i = 1; i < runs.size(); ++i)
    gate.check(runs[i].name, compare_records(runs[0], runs[i]), r.layers);
}

void run(const DiffRequest& r) {
  if (r.common.json && r.csv) reject(Hint{"give only one of the two"}, "--json and --csv exclude each other");
  if (r.layers && r.fail_over.empty()) reject(Hint{"add --fail-over 5%"}, "--layers needs --fail-over");
  Gate gate{.share = r.fail_over.empty() ? 0 : allowed_share(r.fail_over)};
  const std::vector<std::string> names = chosen_runs(r);
  const Sheet by_step = step_diff_sheet({}), by_cell = table_diff_sheet({}), by_run = runs_sheet({});
  const std::string& sort = r.common.tables.sort;
  require_tables(r.common.tables, names.size() > 2 ? by_run : by_cell.has_column(sort) ? by_cell : by_step);
  std::vector<RecordedRun> runs;
  for (const std::string& name : names) runs.push_back(read_run(name));
  const std::vector<ChartFile> charts = chart_files(runs, r.svg);
  if (runs.size() == 2)
    compare_two(runs, r, gate);
  else
    compare_many(runs, r, gate);
  flush_output();
  write_svg(r.svg, charts);
  if (!gate.offence.empty()) fail("{}; --fail-over allows {}", gate.offence, r.fail_over);
}

}  // namespace

void add_diff(Command app) {
  auto r = std::make_shared<DiffRequest>();
  Command verb = app.verb("diff", "compare runs by their records: same, faster, slower or unsure");
  verb.option("runs", r->runs, "two or more files that --record wrote, or folders with a record.json");
  verb.option("--without", r->without, "leave this run out, repeatable");
  verb.option("--fail-over", r->fail_over, "exit with 1 if the whole step is slower by more: 5% or 0.05");
  verb.flag("--layers", r->layers, "with --fail-over: or if any layer is");
  verb.flag("--kernels", r->kernels, "print every step with its kernel, not only those that changed");
  verb.flag("--csv", r->csv, "print the tables as comma-separated values");
  verb.option("--svg", r->svg, "chart the ratios of GPU counters: x.svg becomes x-RATIO.svg");
  add_json(verb, r->common);
  add_table_options(verb, r->common.tables);
  add_layer_table_options(verb, r->common.tables);
  verb.example("headroom diff before.json after.json --fail-over 5%");
  verb.example("headroom diff run1.json run2.json run3.json --without run2.json");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
