// The verb watch: runs any command and shows what the machine did meanwhile. Standard output belongs to the
// command, so the report goes to standard error; without a command it goes to standard output.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/child_process.h"
#include "cli/options.h"
#include "cli/record_files.h"
#include "cli/run_watch.h"
#include "cli/saving.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "comm/world.h"
#include "profile/nvml_source.h"
#include "profile/proc_sources.h"
#include "report/series.h"

namespace headroom::cli {
namespace {

struct WatchRequest {
  std::vector<std::string> command;
  std::string duration, csv, out;
  std::vector<std::string> charts;
  std::int64_t sample_ms = 100;
  RecordFiles files;
  Common common;
};

// What was watched, and how it ended.
struct Watched {
  Samples samples;
  EndedProcess process;    // without a command only wall_s and, after a signal, the code
  bool cut_short = false;  // by --for
};

using Sources = std::vector<std::unique_ptr<SampleSource>>;

Sources machine_sources() {
  Sources sources;
  sources.push_back(machine_source());
  sources.push_back(nvml_source());
  return sources;
}

// The series to draw. Keys are checked before the command starts; --chart none draws nothing.
std::vector<std::string> chart_keys(const WatchRequest& r, const Sources& sources) {
  std::vector<SeriesInfo> known;
  const auto add = [&](const SampleSource& source) {
    for (SeriesInfo& info : source.series()) known.push_back(std::move(info));
  };
  for (const auto& source : sources) add(*source);
  if (!r.command.empty()) add(*process_source(0));
  std::vector<std::string> keys, chosen;
  for (const SeriesInfo& info : known) {
    keys.push_back(info.key);
    if (info.charted) chosen.push_back(info.key);
  }
  if (r.charts.empty()) return chosen;
  chosen.clear();
  for (const std::string& text : r.charts)
    for (const std::string& key : split(text, ',')) {
      if (key == "none") continue;
      if (std::ranges::find(keys, key) == keys.end())
        reject(nearest(key, keys), "--chart: there is no series '{}' on this machine", key);
      chosen.push_back(key);
    }
  return chosen;
}

Watched watch_command(const WatchRequest& r, Sources sources, const HeldSignals& signals,
                      std::optional<double> max_seconds) {
  ChildProcess child(r.command, signals);
  sources.push_back(process_source(child.pid()));
  MachineSampler sampler(std::move(sources), double(r.sample_ms) / 1e3);
  Watched watched;
  watched.cut_short = child.wait(signals, max_seconds);
  watched.samples = sampler.stop();
  watched.process = child.collect();
  return watched;
}

Watched watch_machine(const WatchRequest& r, Sources sources, const HeldSignals& signals, double seconds) {
  const auto now = std::chrono::steady_clock::now;
  const auto begin = now();
  const auto elapsed = [&] { return std::chrono::duration<double>(now() - begin).count(); };
  MachineSampler sampler(std::move(sources), double(r.sample_ms) / 1e3);
  int signal = 0;
  while ((signal == 0 || signal == SIGCHLD) && elapsed() < seconds)
    signal = signals.next(seconds - elapsed());
  Watched watched{.samples = sampler.stop()};
  watched.process.wall_s = elapsed();
  if (signal != 0 && signal != SIGCHLD) watched.process.code = 128 + signal;
  return watched;
}

std::string ending(const EndedProcess& process) {
  if (process.signal == 0) return fmt::format("exit code {}", process.code);
  return fmt::format("by signal {} ({}), exit code {}", process.signal, ::strsignal(process.signal),
                     process.code);
}

std::string report_text(const WatchRequest& r, const Watched& watched,
                        const std::vector<std::string>& charts) {
  const auto& [samples, process, cut_short] = watched;
  const TableView view = r.common.tables.view();
  std::string text =
      r.command.empty()
          ? fmt::format("watched    the machine, {}\n", human_seconds(process.wall_s))
          : fmt::format("watched    {}\ntime       {} wall, {} user, {} system{}\nended      {}\n",
                        fmt::join(r.command, " "), human_seconds(process.wall_s),
                        human_seconds(process.user_s), human_seconds(process.system_s),
                        cut_short ? "; stopped by --for" : "", ending(process));
  if (process.peak_rss_bytes > 0)
    text += fmt::format("memory     {} at the peak of its largest process\n",
                        human_bytes(double(process.peak_rss_bytes)));
  text +=
      fmt::format("samples    {}, one every {} ms; each took {}\n", with_commas(samples.taken), r.sample_ms,
                  human_seconds(samples.cost_s / double(std::max<std::int64_t>(samples.taken, 1))));
  for (const std::string& what : samples.absent) text += fmt::format("not read   {}\n", what);
  text += "\n" + series_sheet(samples).text(view);
  if (const std::size_t rows = per_core_rows(samples); rows > kMaxPerCoreRows)
    text += paragraph(fmt::format("{} series of single cores are in --json and --csv.", rows), view);
  for (const std::string& key : charts)
    for (const Series& series : samples.series)
      if (series.info.key == key) text += "\n" + draw_series(series, samples.seconds, view);
  return text;
}

Json report_json(const WatchRequest& r, const Watched& watched) {
  const auto& [samples, process, cut_short] = watched;
  Json json = {{"command", r.command}, {"wall_s", process.wall_s}, {"exit_code", process.code}};
  if (!r.command.empty())
    json.update({{"stopped_by_for", cut_short}, {"user_s", process.user_s}, {"system_s", process.system_s}});
  if (process.peak_rss_bytes > 0) json["peak_rss_bytes"] = process.peak_rss_bytes;
  json.update(to_json(samples));
  return json;
}

void write_report(const WatchRequest& r, const Watched& watched, const std::vector<std::string>& charts) {
  const std::string text =
      r.common.json ? json_text(report_json(r, watched)) : report_text(r, watched, charts);
  Saving saving;
  if (launched_rank() == 0 && !r.csv.empty())
    saving.attempt([&] { write_file(r.csv, series_csv(watched.samples)); });
  if (launched_rank() == 0 && r.files.any()) {
    RunRecord record = start_record("watch", command_line());
    record.samples = kept_samples(watched.samples);
    record.wall_s = watched.process.wall_s;
    saving.attempt([&] { write_files(r.files, {.record = std::move(record)}); });
  }
  if (r.out.empty()) {
    r.command.empty() ? print(text) : note(text);
  } else if (launched_rank() == 0) {
    saving.attempt([&] { write_file(r.out, text); });
  }
  saving.finish();
}

void run(const WatchRequest& r) {
  constexpr std::int64_t kShortest = 10, kLongest = 60'000;
  if (r.sample_ms < kShortest || r.sample_ms > kLongest)
    reject("--sample-ms is {}; it must lie between {} and {}", r.sample_ms, kShortest, kLongest);
  std::optional<double> seconds;
  if (!r.duration.empty()) seconds = parse_duration(r.duration, "--for");
  if (r.command.empty() && !seconds)
    reject(Hint{"headroom watch -- COMMAND, or headroom watch --for 10s for the machine alone"},
           "'headroom watch' needs a command or --for");
  require_tables(r.common.tables, {});
  for (const std::string& file : {r.csv, r.out})
    if (!file.empty()) require_writable(file);
  require_files(r.files, {{"--csv", r.csv}, {"--output", r.out}});

  const HeldSignals signals;
  Sources sources = machine_sources();
  const std::vector<std::string> charts = chart_keys(r, sources);
  const Watched watched = r.command.empty() ? watch_machine(r, std::move(sources), signals, *seconds)
                                            : watch_command(r, std::move(sources), signals, seconds);
  write_report(r, watched, charts);
  if (watched.process.code != 0) throw Interrupted{watched.process.code};
}

}  // namespace

void add_watch(Command app) {
  auto r = std::make_shared<WatchRequest>();
  Command verb = app.verb("watch", "watch CPU, memory and GPUs while a command runs; its exit code is ours");
  verb.takes_command(r->command);
  verb.option("--for", r->duration,
              "end the command after this time: 180s, 3m, 500ms; without a command: watch so long");
  verb.option("--sample-ms", r->sample_ms, "milliseconds between samples");
  verb.option("--chart", r->charts, "series to draw, by their keys in --json: a,b; none: no charts");
  verb.flag("--json", r->common.json, "report as one JSON object, with every sample");
  verb.option("--csv", r->csv, "also write every sample to this file, as comma-separated values");
  verb.option("-o,--output", r->out, "write the report to this file instead of standard error");
  add_record_options(verb, r->files);
  add_table_options(verb, r->common.tables);
  verb.example("headroom watch -- headroom train lenet5");
  verb.example("headroom watch --for 180s --sample-ms 200 --csv samples.csv -- python3 train.py --epochs 5");
  verb.example("headroom watch --for 10s");
  verb.runs_on_ranks([r] { run(*r); });
}

}  // namespace headroom::cli
