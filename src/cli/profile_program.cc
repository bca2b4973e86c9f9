#include "cli/profile_program.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/program_run.h"
#include "cli/run_watch.h"
#include "cli/saving.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "comm/world.h"
#include "inject/injected_trace.h"
#include "inject/process_file.h"
#include "inject/step_windows.h"
#include "profile/gpu_counters.h"
#include "profile/run_facts.h"
#include "report/profile_files.h"
#include "report/profile_ranges.h"
#include "report/profile_report.h"
#include "report/program_counters.h"
#include "report/program_sheets.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;
using inject::ProcessRecord;

// Folders that this run makes: what is empty at its end is removed again.
class MadeFolders {
 public:
  explicit MadeFolders(const std::string& folder) {
    if (folder.empty()) return;
    for (fs::path path = fs::absolute(folder); !fs::exists(path); path = path.parent_path())
      made_.push_back(path);
  }
  ~MadeFolders() {
    std::error_code ignored;
    for (const fs::path& path : made_) fs::remove(path, ignored);
  }
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

 private:
  std::vector<fs::path> made_;  // innermost first
};

// Where the processes put their files until there is a profile. A run without one removes them, so that an
// earlier profile in the same folder stays as it is.
class PendingProcesses {
 public:
  PendingProcesses(const std::string& out, const std::string& name)
      : folder_(out, (name + ".part").c_str()), kept_(out.empty() ? fs::path() : fs::absolute(out) / name) {}
  ~PendingProcesses() {
    std::error_code ignored;
    if (!kept_.empty()) fs::remove_all(folder_.path(), ignored);
  }
  PendingProcesses(const PendingProcesses&) = delete;
  PendingProcesses& operator=(const PendingProcesses&) = delete;

  const ProcessFolder& folder() const { return folder_; }
  void keep() const {
    if (kept_.empty()) return;
    std::error_code error;
    fs::remove_all(kept_, error);
    fs::rename(folder_.path(), kept_, error);
    if (error) fail("cannot make the folder {}: {}", kept_.string(), error.message());
  }

 private:
  ProcessFolder folder_;
  fs::path kept_;
};

// "last:20s", "first:100000", "20s"
inject::WindowRule parsed_window(const std::string& text) {
  inject::WindowRule rule;
  if (text.empty()) return rule;
  const Hint hint{"write last:20s, first:20s, or a number of records: last:1000000"};
  const std::size_t colon = text.find(':');
  const std::string which = colon == std::string::npos ? "last" : text.substr(0, colon);
  const std::string size = colon == std::string::npos ? text : text.substr(colon + 1);
  if (which != "first" && which != "last")
    reject(hint, "--window is '{}'; it must begin with first or last", text);
  rule.first = which == "first";
  constexpr std::int64_t kMinRecords = 1000, kMaxRecords = 4'000'000;
  if (size.find_first_not_of("0123456789") == std::string::npos && !size.empty()) {
    rule.max_events = parse_int(size, "--window");
    if (rule.max_events < kMinRecords || rule.max_events > kMaxRecords)
      reject(hint, "--window has {} records; it must have between {} and {}", size, with_commas(kMinRecords),
             with_commas(kMaxRecords));
    return rule;
  }
  try {
    rule.max_ns = static_cast<std::int64_t>(1e9 * parse_duration(size, "--window"));
  } catch (const Error&) {
    reject(hint, "--window is '{}', which is neither a time nor a number of records", text);
  }
  rule.max_events = kMaxRecords;
  return rule;
}

std::string program_ending(const EndedProcess& process) {
  if (process.signal == 0) return fmt::format("exit code {}", process.code);
  return fmt::format("signal {} ({}), exit code {}", process.signal, ::strsignal(process.signal),
                     process.code);
}

RunProfile profile_of(const ProgramRequest& request, const ProfileOptions& options, EndedProgram& ended,
                      const std::vector<ProcessRecord>& processes) {
  RunProfile profile;
  profile.trace = inject::trace_of(processes);
  profile.trace.notes.push_back(inject::set_step_windows(
      profile.trace, {.range = request.step_range, .max_steps = static_cast<int>(options.steps)}));
  profile.samples_begin_s = 1e-9 * double(ended.begin_epoch_ns - inject::origin_of(processes));
  profile.samples = std::move(ended.samples);
  profile.facts = host_facts();
  const EndedProcess& process = ended.process;
  for (RunFact& fact : facts_of(ProcessUse{.command = request.command,
                       .folder = fs::current_path().string(),
                       .user_s = process.user_s,
                       .system_s = process.system_s,
                       .elapsed_s = process.wall_s,
                       .minor_faults = process.minor_faults,
                       .major_faults = process.major_faults,
                       .peak_bytes = process.peak_rss_bytes}))
    profile.facts.push_back(std::move(fact));
  RunRecord& record = profile.record = start_record(std::string(kProgramVerb), command_line());
  record.wall_s = process.wall_s;
  if (profile.samples) record.samples = kept_samples(*profile.samples);
  record.tables = {step_sheet(profile.trace), step_kernels_sheet(profile.trace), whole_run_sheet(processes)};
  return profile;
}

// The second run: tracing and counting change each other, so that times and counters have a run each.
void add_counters(RunProfile& profile, const InjectedProgram& program, const ProfileOptions& options,
                  const EndedProcess& first, std::optional<PendingProcesses>& counted) {
  std::vector<std::string>& notes = profile.trace.notes;
  if (first.code != 0) {
    notes.push_back("No counters: the program failed, so that it did not run a second time to be counted.");
    return;
  }
  note("headroom: the program runs a second time, to count; its output is dropped\n");
  const ProcessFolder& folder = counted.emplace(options.out, kCountedFolder).folder();
  ::setenv(inject::kCountersVariable,
           fmt::format("{}", fmt::join(gpu_counters_named(options.counters), ",")).c_str(), 1);
  const EndedProcess second = program.run(folder, 0, InjectedProgram::Output::dropped).process;
  ::unsetenv(inject::kCountersVariable);
  if (second.code != 0)
    notes.push_back(
        fmt::format("The second run ended with {}: counters may be incomplete.", program_ending(second)));
  try {
    const ProgramCounts counts = program_counts(profile.trace, inject::read_processes(folder.path()));
    for (Sheet& sheet : program_counter_sheets(counts)) profile.record.tables.push_back(std::move(sheet));
    notes.insert(notes.end(), counts.notes.begin(), counts.notes.end());
  } catch (const Error& error) {  // the times of the first run are good
    notes.push_back(fmt::format("No counters: {}", error.what()));
  }
}

std::string program_text(const RunProfile& profile, const ProfileOptions& options,
                         const std::vector<ProcessRecord>& processes, const TableView& view) {
  std::vector<std::string> views;
  if (!options.card.empty()) views.push_back(profile_card(profile, options.card));
  if (!options.zoom.empty()) views.push_back(zoom_sheet(profile, options.zoom).text(view));
  if (!views.empty()) return fmt::format("{}", fmt::join(views, "\n"));
  return profile_text(profile, view, view) + processes_text(processes, view);
}

void print_program(const RunProfile& profile, const ProfileOptions& options, const Common& common,
                   const std::vector<ProcessRecord>& processes, const EndedProcess& ended) {
  if (!common.json)
    return note("\n" + with_options(program_text(profile, options, processes, common.tables.view())));
  Json json = profile_json(profile);
  json["exit_code"] = ended.code, json["processes"] = processes.size();
  if (!options.card.empty()) json["card"] = profile_cards(profile, options.card).objects();
  if (!options.zoom.empty()) json["zoom"] = zoom_sheet(profile, options.zoom).objects();
  print_json(json);
}

// The parser took every option: those that are not listed here are about networks.
void reject_network_options(const Common& common) {
  static const std::set<std::string> of_programs = {
      "--step-range",  "--window",   "--layers", "--graphs", "--out",  "--steps", "--sample-ms",
      "--trace-steps", "--counters", "--chip",   "--code",   "--card", "--zoom",  "--json",
      "--record",      "--report",   "--width",  "--wide",   "--sort", "--top",   "--summary"};
  for (const std::string& word : command_line()) {
    if (word == "--") return;
    const std::string name = word.substr(0, word.find('='));
    const bool gpu = name == "--device" && common.device.starts_with("cuda");  // says what is true anyway
    if (name.starts_with("--") && !of_programs.contains(name) && !gpu)
      reject(Hint{"leave it out"}, "{} is about networks that headroom runs, not about other programs", name);
  }
}

void require_program(const ProfileOptions& options, const Common& common) {
  reject_network_options(common);
  require_profile(options);
  if (launched_as_one_of_several())
    reject(Hint{"headroom profile -- mpirun -n 2 PROGRAM profiles all ranks at once"},
           "headroom was started as one of several ranks; it must start them itself");
}

}  // namespace

void add_program_options(Command verb, ProgramRequest& request) {
  verb.takes_command(request.command);
  verb.option("--step-range", request.step_range,
              "of a program: its steps are the NVTX ranges of this name; else found by repeated launches");
  verb.option("--window", request.window,
              "of a program: records kept one by one: last:20s, first:20s, last:400000; others are added up");
  verb.option("--layers", request.layers, "of a program: torch names kernels by the modules of PyTorch");
  verb.option("--graphs", request.graphs,
              "of a program: whole records a CUDA graph's launch as one, which costs less; else its kernels");
}

void reject_program_options(const ProgramRequest& request) {
  const std::pair<const std::string*, const char*> options[] = {{&request.step_range, "--step-range"},
                                                                {&request.window, "--window"},
                                                                {&request.layers, "--layers"},
                                                                {&request.graphs, "--graphs"}};
  for (const auto& [value, name] : options)
    if (!value->empty())
      reject(Hint{"headroom profile -- PROGRAM ARGS"}, "{} is about a program after --", name);
}

void profile_program(const ProgramRequest& request, const ProfileOptions& options, const Common& common,
                     const RecordFiles& files) {
  const inject::WindowRule window = parsed_window(request.window);
  if (!request.layers.empty() && request.layers != "torch")
    reject(Hint{"only the layers of torch can be named"}, "--layers is '{}'", request.layers);
  if (!request.graphs.empty() && request.graphs != "whole" && request.graphs != "nodes")
    reject(Hint{"write whole or nodes"}, "--graphs is '{}'", request.graphs);
  const MadeFolders made(options.out);
  require_program(options, common);
  require_files(files);
  const InjectedProgram program(request.command, request.layers);
  const PendingProcesses pending(options.out, kProcessesFolder);
  const ProcessFolder& folder = pending.folder();
  ::setenv(inject::kWindowVariable, inject::to_text(window).c_str(), 1);
  ::setenv(inject::kGraphsVariable, request.graphs.c_str(), 1);

  using Output = InjectedProgram::Output;
  EndedProgram ended = program.run(folder, options.sample_ms, common.json ? Output::to_error : Output::ours);
  const EndedProcess process = ended.process;
  if (process.code != 0) note(fmt::format("headroom: the program ended with {}\n", program_ending(process)));
  const std::vector<ProcessRecord> processes = inject::read_processes(folder.path());
  if (processes.empty()) {
    const char* const hint = "headroom watch shows what programs do on CPUs";
    note(fmt::format("headroom: no CUDA was used, so there is nothing to profile\n  {}\n", hint));
    throw Interrupted{process.code != 0 ? process.code : 1};
  }
  RunProfile profile = profile_of(request, options, ended, processes);
  std::optional<PendingProcesses> counted;
  if (!options.counters.empty()) add_counters(profile, program, options, process, counted);
  Saving saving;
  if (!options.out.empty())
    saving.attempt([&] { write_profile(profile, options.out, static_cast<int>(options.trace_steps)); });
  saving.attempt([&] { pending.keep(); });
  if (counted) saving.attempt([&] { counted->keep(); });
  saving.attempt([&] { write_files(files, profile); });
  print_program(profile, options, common, processes, process);
  flush_output();
  saving.finish();
  if (!options.out.empty()) note(fmt::format("headroom: the profile is in {}\n", options.out));
  if (process.code != 0) throw Interrupted{process.code};
}

}  // namespace headroom::cli
