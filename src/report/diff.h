#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "report/change.h"
#include "report/record.h"

namespace headroom {

// A record and the name that messages and tables give it: its file.
struct RecordedRun {
  std::string name;
  RunRecord record;
};

// One time in two records.
struct DiffRow {
  std::string name;         // a layer, a phase, "training step", or the row of a benchmark
  std::string what = {};    // a step: its operator; a benchmark: the column
  std::string kernel = {};  // of a step; "old -> new" if it changed
  MedianInterval before = {}, after = {};
  Change change = Change::unsure;
  std::optional<double> percent() const;  // empty if one side has no time
};

// A setting in which the runs differ: "batch", "64", "128".
struct DiffSetting {
  std::string what, before, after;
};

struct RecordDiff {
  std::vector<DiffSetting> settings;
  std::optional<DiffRow> whole;  // a benchmark has none
  std::vector<DiffRow> phases;   // empty if there is only one
  std::vector<DiffRow> layers, steps;
  std::vector<DiffRow> cells;  // times in the tables of a benchmark
};

// Rejects records that have no times in common.
RecordDiff compare_records(const RecordedRun& before, const RecordedRun& after);

// Samples of the whole step: as it ran, else the sum over the plan's steps. Empty if nothing was timed.
std::vector<double> whole_samples(const RunRecord& record);
std::vector<DiffSetting> differing_settings(const RunRecord& before, const RunRecord& after);
// Times of benchmark tables, by name of the table and row. In diff_tables.cc.
std::vector<DiffRow> compare_tables(const std::vector<Sheet>& before, const std::vector<Sheet>& after);

// How both are printed; in diff_report.cc.
Sheet layer_diff_sheet(const RecordDiff& diff);             // layers; phases and the whole as totals
Sheet step_diff_sheet(const std::vector<DiffRow>& steps);   // one row per step of the plans
Sheet table_diff_sheet(const std::vector<DiffRow>& cells);  // of benchmarks
Json to_json(const RecordDiff& diff);
std::string describe(const RunRecord& record);  // "lenet5, batch 64, fp32, Neoverse-V1 (2 threads), …"

// Three and more runs: one row each, compared with the first. Rejects runs without times.
Sheet runs_sheet(const std::vector<RecordedRun>& runs);

}  // namespace headroom
