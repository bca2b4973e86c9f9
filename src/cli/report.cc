// The verb report: one HTML page about a run, or several side by side, from their records.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/record_files.h"
#include "cli/verbs.h"
#include "page/page.h"
#include "report/diff.h"
#include "report/profile_files.h"

namespace headroom::cli {
namespace {

struct ReportRequest {
  std::vector<std::string> runs;
  std::string out, extract;
  Common common;
};

// A profile's folder has a trace beside its record.
PageRun read_page_run(const std::string& name) {
  const std::filesystem::path record = record_path(name);
  std::error_code ignored;
  if (record != name && std::filesystem::exists(record.parent_path() / "trace.json", ignored))
    return {name, read_profile(record.parent_path())};
  return {name, {.record = read_record(record)}};
}

std::filesystem::path default_page(const std::string& run) {
  const std::filesystem::path path = run;
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / "report.html"
                                                      : std::filesystem::path(run).replace_extension(".html");
}

// run.json, run-2.json, …
std::filesystem::path numbered(const std::filesystem::path& file, std::size_t number) {
  if (number == 0) return file;
  return file.parent_path() /
         fmt::format("{}-{}{}", file.stem().string(), number + 1, file.extension().string());
}

void extract(const ReportRequest& r) {
  if (r.runs.size() != 1)
    reject(Hint{"name one page"}, "--extract reads one page; {} were given", r.runs.size());
  if (!r.out.empty()) reject(Hint{"give only one of the two"}, "--extract and --out exclude each other");
  require_writable(r.extract);
  const std::vector<Json> records = records_in_page(read_file(r.runs[0]), r.runs[0]);
  for (std::size_t i = 0; i < records.size(); ++i)
    if (is_same_file(numbered(r.extract, i), r.runs[0]))
      reject(Hint{"give another name"}, "--extract would write a record over the page itself, {}", r.runs[0]);
  Json files = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    record_from_json(records[i], r.runs[0]);  // rejects what is no record
    const std::filesystem::path file = numbered(r.extract, i);
    write_file(file, json_text(records[i]));
    files.push_back(file.string());
    if (!r.common.json) print(fmt::format("{}\n", file.string()));
  }
  if (r.common.json) print_json({{"records", files}});
}

// The page's summary for a terminal: its facts, and the layers with bars.
std::string summary_text(const RunRecord& record, const TableView& view) {
  std::string text;
  for (const SummaryFact& fact : summary_of(record))
    text +=
        fmt::format("{:<16} {}{}\n", fact.name, fact.value, fact.note.empty() ? "" : " (" + fact.note + ")");
  double longest = 0;
  for (const LayerReading& l : record.layers) longest = std::max(longest, l.measured_s());
  if (longest <= 0) return text;
  constexpr double kBar = 30;
  using enum Column::Format;
  Sheet sheet("layers",
              {{.key = "layer", .title = "layer"},
               {.key = "ms", .title = "ms", .unit = "ms"},
               {.key = "bar", .title = "time; #: floor", .left = true},
               {.key = "percent_of_roofline", .title = "% of roofline", .unit = "%", .format = tenths}});
  for (const LayerReading& l : record.layers) {
    const auto cells = [&](double seconds) {
      return static_cast<std::size_t>(kBar * seconds / longest + 0.5);
    };
    const std::size_t whole = cells(l.measured_s()), floor = std::min(whole, cells(l.floor_s));
    sheet.row({l.layer, l.measured_s() * 1e3, std::string(floor, '#') + std::string(whole - floor, '-'),
               l.measured_s() > 0 ? Cell(100 * l.floor_s / l.measured_s()) : Cell()});
  }
  return text + "\n" + sheet.text(view);
}

void run(const ReportRequest& r) {
  if (r.runs.empty()) reject(Hint{"headroom report run.json"}, "report needs a run record");
  if (!r.extract.empty()) return extract(r);
  const std::filesystem::path out = r.out.empty() ? default_page(r.runs[0]) : std::filesystem::path(r.out);
  for (const std::string& name : r.runs)
    if (const std::filesystem::path record = record_path(name); is_same_file(out, record))
      reject(Hint{"give another --out; to read a page again: --extract run.json"},
             "{} is the page's own name", record.string());
  std::vector<PageRun> runs;
  for (const std::string& name : r.runs) runs.push_back(read_page_run(name));
  require_writable(out);
  const std::string page = html_page(runs);
  write_file(out, page);
  if (r.common.json) return print_json({{"page", out.string()}, {"bytes", page.size()}, {"runs", r.runs}});
  for (const PageRun& one : runs) {
    if (runs.size() > 1) print(fmt::format("{}: {}\n", one.name, describe(one.run.record)));
    print(summary_text(one.run.record, r.common.tables.layers()) + "\n");
  }
  print(fmt::format("The page is {} ({})\n", out.string(), human_bytes(double(page.size()))));
}

}  // namespace

void add_report(Command app) {
  auto r = std::make_shared<ReportRequest>();
  Command verb = app.verb("report", "write one HTML page about a run, or about several side by side");
  verb.option("runs", r->runs, "files that --record wrote, or folders of headroom profile");
  verb.option("-o,--out", r->out, "the page; else beside the first run, with .html");
  verb.option("--extract", r->extract, "read a page instead, and write the record in it to this file");
  add_json(verb, r->common);
  add_table_options(verb, r->common.tables);
  verb.example("headroom report run.json -o run.html");
  verb.example("headroom report before.json after.json -o compared.html");
  verb.example("headroom report run.html --extract run.json");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
