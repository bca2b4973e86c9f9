#include "cli/bench_output.h"

#include "base/file.h"
#include "base/json.h"
#include "cli/verbs.h"

namespace headroom::cli {

void add_bench_output(Command verb, BenchTarget& target) {
  verb.flag("--csv", target.csv, "print the tables as comma-separated values");
  add_record_options(verb, target.files);
}

void require_output(const BenchTarget& target, const Common& common) {
  if (common.json && target.csv)
    reject(Hint{"give only one of the two"}, "--json and --csv exclude each other");
  common.tables.view();  // rejects a width out of range
  require_files(target.files);
}

void require_svg(const BenchTarget& target, const std::vector<std::string>& names) {
  if (target.svg.empty()) return;
  require_svg(target.svg, names);
  for (const std::string& name : names)
    require_distinct({{"--svg", chart_path(target.svg, name)},
                      {"--record", target.files.record},
                      {"--report", target.files.report}});
}

namespace {

// A verb may print tables with different columns; --sort applies to those that have its column.
TableView view_of(const Sheet& sheet, const Common& common) {
  TableView view = common.tables.layers();
  if (!view.sort.empty() && !sheet.has_column(view.sort)) view.sort.clear();
  return view;
}

void print_tables(const BenchOutput& output, const Common& common, const BenchTarget& target) {
  if (common.json) return print_json(output.json);
  for (std::size_t i = 0; i < output.tables.size(); ++i) {
    const BenchTable& table = output.tables[i];
    if (target.csv)
      print((i > 0 ? "\n" : "") + table.sheet.csv());
    else
      print(table.before + table.sheet.text(view_of(table.sheet, common)) + table.after);
  }
}

}  // namespace

void finish_bench(const BenchOutput& output, const Common& common, const BenchTarget& target,
                  const Machine* machine) {
  print_tables(output, common, target);
  flush_output();
  write_svg(target.svg, output.charts);
  std::vector<Sheet> sheets;
  for (const BenchTable& table : output.tables) sheets.push_back(table.sheet);
  write_tables(target.files, output.verb, std::move(sheets), machine);
}

}  // namespace headroom::cli
