#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "report/profile.h"

namespace headroom::cli {

// The files about a run that the user asked for: its record, and the page made from it. Empty: none.
struct RecordFiles {
  std::string record, report;
  bool any() const { return !record.empty() || !report.empty(); }
};
void add_record_options(Command verb, RecordFiles& files);  // --record, --report

// Files to write, by the options that name them. Empty ones do not count.
using FilesToWrite = std::vector<std::pair<std::string, std::filesystem::path>>;
// Rejects two options with one file: the second text would replace the first.
void require_distinct(const FilesToWrite& files);
// Before the run: rejects what cannot be written, and a file that `others` have as well.
void require_files(const RecordFiles& files, FilesToWrite others = {});
// The record that a user names: a file, or the folder of a profile. Rejects a folder without one.
std::filesystem::path record_path(const std::string& name);

// With the trace, if there is one. Says where the page is.
void write_files(const RecordFiles& files, const RunProfile& run);
// Of a run whose result is tables.
void write_tables(const RecordFiles& files, const std::string& verb, std::vector<Sheet> tables,
                  const Machine* machine = nullptr);

}  // namespace headroom::cli
