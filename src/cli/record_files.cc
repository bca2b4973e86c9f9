#include "cli/record_files.h"

#include "base/file.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "page/page.h"

namespace headroom::cli {

void add_record_options(Command verb, RecordFiles& files) {
  verb.option("--record", files.record, "write the run record, JSON, to this file");
  verb.option("--report", files.report, "write a page about the run, HTML, to this file");
}

void require_distinct(const FilesToWrite& files) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!files[i].second.empty() && !files[j].second.empty() &&
          is_same_file(files[i].second, files[j].second))
        reject(Hint{"give them different names"}, "{} and {} name the same file, {}", files[j].first,
               files[i].first, files[i].second.string());
}

void require_files(const RecordFiles& files, FilesToWrite others) {
  if (!files.record.empty()) require_writable(files.record);
  if (!files.report.empty()) require_writable(files.report);
  others.insert(others.end(), {{"--record", files.record}, {"--report", files.report}});
  require_distinct(others);
}

std::filesystem::path record_path(const std::string& name) {
  const std::filesystem::path path = name;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  if (!std::filesystem::exists(path / "record.json", ignored))
    reject(Hint{"name a file that --record wrote"}, "the folder {} has no record.json", name);
  return path / "record.json";
}

void write_files(const RecordFiles& files, const RunProfile& run) {
  if (!files.record.empty()) write_file(files.record, json_text(to_json(run.record)));
  if (files.report.empty()) return;
  write_file(files.report, html_page({{files.report, run}}));
  note(fmt::format("headroom: the page is {}\n", files.report));
}

void write_tables(const RecordFiles& files, const std::string& verb, std::vector<Sheet> tables,
                  const Machine* machine) {
  if (!files.any()) return;
  flush_output();  // the result is out before a file can fail
  RunRecord record = start_record(verb, command_line());
  if (machine != nullptr) record.machine = *machine;
  record.tables = std::move(tables);
  record.resources = process_resources();
  write_files(files, {.record = std::move(record)});
}

}  // namespace headroom::cli
