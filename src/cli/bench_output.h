#pragma once

// The output of every benchmark: tables with a note below each, one JSON object, charts, and a run record.

#include <string>
#include <vector>

#include "base/sheet.h"
#include "cli/charts.h"
#include "cli/options.h"
#include "cli/record_files.h"

namespace headroom::cli {

struct BenchTable {
  Sheet sheet;
  std::string before, after;  // lines for people
};

struct BenchOutput {
  std::string verb;  // "bench nets"
  std::vector<BenchTable> tables;
  Json json;
  std::vector<ChartFile> charts = {};
};

// The output formats and files the user asked for.
struct BenchTarget {
  bool csv = false;
  RecordFiles files;
  std::string svg = {};  // of verbs that call add_svg_option and require_svg for it
};
void add_bench_output(Command verb, BenchTarget& target);  // --csv, --record, --report
// Before the work begins: rejects a file that cannot be written, and two ways to print.
void require_output(const BenchTarget& target, const Common& common);

// The same for charts, by their names. Also rejects a chart in the file of the record or of the page.
void require_svg(const BenchTarget& target, const std::vector<std::string>& names = {""});

// Prints the tables, or CSV, or JSON, and writes the charts and the record. `machine`: the ceilings used, or
// null.
void finish_bench(const BenchOutput& output, const Common& common, const BenchTarget& target,
                  const Machine* machine);

}  // namespace headroom::cli
