#include "report/profile_files.h"

#include "base/file.h"
#include "base/json.h"
#include "report/profile_report.h"
#include "report/profile_run_sheet.h"
#include "report/series.h"
#include "report/trace_chrome.h"
#include "report/trace_perfetto.h"
#include "report/trace_speedscope.h"

namespace headroom {

namespace {

// For chrome://tracing and many others, for ui.perfetto.dev, and for speedscope.app.
void write_traces(const RunProfile& profile, const std::filesystem::path& folder, int steps) {
  TraceExtras extras{.plan = profile.record.plan ? &*profile.record.plan : nullptr,
                     .samples = profile.samples ? &*profile.samples : nullptr,
                     .samples_begin_s = profile.samples_begin_s};
  for (const RunProfile::Loss& loss : profile.losses) extras.losses.push_back({loss.seconds, loss.value});
  const TraceTracks tracks = trace_tracks(profile.trace, extras, {.max_steps = steps});
  write_file(folder / "trace.chrome.json", chrome_trace(tracks));
  write_file(folder / "trace.perfetto-trace", perfetto_trace(tracks));
  write_file(folder / "trace.speedscope.json", speedscope_trace(tracks));
}

}  // namespace

void write_profile(const RunProfile& profile, const std::filesystem::path& folder, int trace_steps) {
  std::filesystem::create_directories(folder / "tables");
  write_file(folder / "record.json", to_json(profile.record).dump(1) + "\n");
  write_file(folder / "trace.json", to_json(profile.trace).dump() + "\n");
  write_file(folder / "facts.json", to_json(profile.facts).dump(1) + "\n");
  write_traces(profile, folder, trace_steps);
  if (profile.samples) write_file(folder / "samples.csv", series_csv(*profile.samples));
  for (const Sheet& sheet : profile_sheets(profile))
    write_file(folder / "tables" / (sheet.name() + ".csv"), sheet.csv());
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
