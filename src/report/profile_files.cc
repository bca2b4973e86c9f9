#include "report/profile_files.h"

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "inject/records.h"
#include "report/profile_report.h"
#include "report/profile_run_sheet.h"
#include "report/series.h"
#include "report/trace_chrome.h"
#include "report/trace_perfetto.h"
#include "report/trace_speedscope.h"

namespace headroom {

namespace {

namespace fs = std::filesystem;

// The files of the folder that only some profiles have: samples, tables, and the records of the processes of
// a program. None where no profile was written before: there such files are someone else's.
std::set<fs::path> files_of_earlier_profile(const fs::path& folder) {
  std::set<fs::path> files;
  if (!fs::exists(folder / "record.json") || !fs::exists(folder / "trace.json")) return files;
  if (fs::exists(folder / "samples.csv")) files.insert(folder / "samples.csv");
  const auto add = [&](const char* name, const char* ending) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / name, none))
      if (entry.is_regular_file() && entry.path().extension() == ending) files.insert(entry.path());
  };
  add("tables", ".csv");
  for (const char* name : {kProcessesFolder, kCountedFolder}) add(name, inject::kFileEnding);
  return files;
}

// Writes files, and in the end removes those of an earlier profile that were not written again.
class ProfileFolder {
 public:
  explicit ProfileFolder(const fs::path& folder) : folder_(folder), old_(files_of_earlier_profile(folder)) {
    fs::create_directories(folder / "tables");
  }
  void write(const fs::path& name, std::string_view bytes) {
    write_file(folder_ / name, bytes);
    old_.erase(folder_ / name);
  }
  void remove_old() const {
    std::error_code ignored;
    for (const fs::path& file : old_) fs::remove(file, ignored);
    for (const char* name : {kProcessesFolder, kCountedFolder})
      fs::remove(folder_ / name, ignored);  // if empty
  }

 private:
  const fs::path& folder_;
  std::set<fs::path> old_;
};

// For chrome://tracing and many others, for ui.perfetto.dev, and for speedscope.app.
void write_traces(const RunProfile& profile, ProfileFolder& folder, int steps) {
  TraceExtras extras{.plan = profile.record.plan ? &*profile.record.plan : nullptr,
                     .samples = profile.samples ? &*profile.samples : nullptr,
                     .samples_begin_s = profile.samples_begin_s};
  for (const RunProfile::Loss& loss : profile.losses) extras.losses.push_back({loss.seconds, loss.value});
  const TraceTracks tracks = trace_tracks(profile.trace, extras, {.max_steps = steps});
  folder.write("trace.chrome.json", chrome_trace(tracks));
  folder.write("trace.perfetto-trace", perfetto_trace(tracks));
  folder.write("trace.speedscope.json", speedscope_trace(tracks));
}

}  // namespace

void write_profile(const RunProfile& profile, const std::filesystem::path& folder, int trace_steps) {
  ProfileFolder files(folder);
  files.write("record.json", to_json(profile.record).dump(1) + "\n");
  files.write("trace.json", to_json(profile.trace).dump() + "\n");
  files.write("facts.json", to_json(profile.facts).dump(1) + "\n");
  write_traces(profile, files, trace_steps);
  if (profile.samples) files.write("samples.csv", series_csv(*profile.samples));
  for (const Sheet& sheet : profile_sheets(profile))
    files.write(std::filesystem::path("tables") / (sheet.name() + ".csv"), sheet.csv());
  files.remove_old();
}

RunProfile read_profile(const std::filesystem::path& folder) {
  RunProfile profile;
  profile.record = read_record(folder / "record.json");
  const auto read_json = [](const std::filesystem::path& path) {
    Json json = Json::parse(read_file(path), nullptr, false);
    if (json.is_discarded()) reject("{} is not JSON", path.string());
    return json;
  };
  const std::filesystem::path trace = folder / "trace.json", facts = folder / "facts.json";
  profile.trace = trace_from_json(read_json(trace), trace.string());
  if (std::filesystem::exists(facts)) profile.facts = facts_from_json(read_json(facts), facts.string());
  return profile;
}

}  // namespace headroom
