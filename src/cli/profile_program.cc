#include "cli/profile_program.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/child_process.h"
#include "cli/run_watch.h"
#include "cli/saving.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "comm/world.h"
#include "inject/injected_trace.h"
#include "inject/process_file.h"
#include "inject/step_windows.h"
#include "profile/nvml_source.h"
#include "profile/proc_sources.h"
#include "profile/run_facts.h"
#include "report/profile_files.h"
#include "report/profile_ranges.h"
#include "report/profile_report.h"
#include "report/program_sheets.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;
using inject::ProcessRecord;

constexpr const char* kInjectionVariables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};

// Beside the program in a build, below its prefix when installed.
fs::path injection_library() {
  constexpr const char* kName = "libheadroom_inject.so";
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / kName, folder.parent_path() / "lib" / "headroom" / kName})
    if (fs::exists(path, error)) return path;
  reject(Hint{"build headroom where the CUDA toolkit with CUPTI is"},
         "programs cannot be profiled: {} is neither beside headroom nor in ../lib/headroom", kName);
}

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

void reject_other_injections() {
  for (const char* name : kInjectionVariables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      reject(Hint{fmt::format("unset {}, or profile with that library alone", name)},
             "{} is set to {}: another library would be loaded into the program", name, value);
}

// Where the processes put their files: in the folder of the profile, else a temporary one.
class ProcessFolder {
 public:
  explicit ProcessFolder(const std::string& out) {
    if (!out.empty()) {
      path_ = fs::absolute(out) / "processes";
      fs::remove_all(path_);  // of an earlier profile
      fs::create_directories(path_);
      return;
    }
    std::string name = (fs::temp_directory_path() / "headroom-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      fail("cannot make a folder in {}: {}", fs::temp_directory_path().string(), std::strerror(errno));
    path_ = name, temporary_ = true;
  }
  ~ProcessFolder() {
    std::error_code ignored;
    if (temporary_) fs::remove_all(path_, ignored);
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool temporary_ = false;
};

struct EndedProgram {
  EndedProcess process;
  std::optional<Samples> samples;
  std::int64_t begin_epoch_ns = 0;
};

EndedProgram run_program(const ProgramRequest& request, const ProfileOptions& options, bool json) {
  const HeldSignals signals;
  EndedProgram ended;
  ended.begin_epoch_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  ChildProcess child(request.command, signals, false,
                     json ? ChildStreams{.out = STDERR_FILENO} : ChildStreams{});
  std::optional<MachineSampler> sampler;
  if (options.sample_ms > 0) {
    std::vector<std::unique_ptr<SampleSource>> sources;
    sources.push_back(machine_source());
    sources.push_back(nvml_source());
    sources.push_back(process_source(child.pid()));
    sampler.emplace(std::move(sources), double(options.sample_ms) / 1e3);
  }
  child.wait(signals, {});
  if (sampler) ended.samples = sampler->stop();
  ended.process = child.collect();
  return ended;
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

std::string program_text(const RunProfile& profile, const ProfileOptions& options,
                         const std::vector<ProcessRecord>& processes, const TableView& view) {
  if (!options.card.empty()) return profile_card(profile, options.card);
  if (!options.zoom.empty())
    return ranges_sheet(zoomed(range_rows(profile.trace, TracePart::whole_run), options.zoom)).text(view);
  return profile_text(profile, view, view) + processes_text(processes, view);
}

void print_program(const RunProfile& profile, const ProfileOptions& options, const Common& common,
                   const std::vector<ProcessRecord>& processes, const EndedProcess& ended) {
  if (!common.json)
    return note("\n" + with_options(program_text(profile, options, processes, common.tables.view())));
  Json json = profile_json(profile);
  json["exit_code"] = ended.code, json["processes"] = processes.size();
  if (!options.card.empty()) json["card"] = profile_cards(profile, options.card).objects();
  print_json(json);
}

// Python runs the file there when it starts.
void name_layers(const std::string& layers, const fs::path& library) {
  if (layers.empty()) return;
  const char* const before = std::getenv("PYTHONPATH");
  std::string folders = (library.parent_path() / "python").string();
  if (before != nullptr && *before != '\0') folders += fmt::format(":{}", before);
  ::setenv("PYTHONPATH", folders.c_str(), 1);
  ::setenv("HEADROOM_LAYERS", layers.c_str(), 1);
}

void require_program(const ProfileOptions& options) {
  const std::pair<bool, const char*> of_networks[] = {
      {options.prove, "--prove"},        {options.memory, "--memory"},
      {options.energy, "--energy"},      {options.managed, "--managed"},
      {!options.open.empty(), "--open"}, {!options.counters.empty(), "--counters"},
      {options.nvtx, "--nvtx"}};
  for (const auto& [given, name] : of_networks)
    if (given)
      reject(Hint{"leave it out"}, "{} is about networks that headroom runs, not about other programs", name);
  require_profile(options);
  if (launched_as_one_of_several())
    reject(Hint{"headroom profile -- mpirun -n 2 PROGRAM profiles all ranks at once"},
           "headroom was started as one of several ranks; it must start them itself");
  reject_other_injections();
}

}  // namespace

void add_program_options(Command verb, ProgramRequest& request) {
  verb.takes_command(request.command);
  verb.option("--step-range", request.step_range,
              "of a program: its steps are the NVTX ranges of this name; else found by repeated launches");
  verb.option("--window", request.window,
              "of a program: records kept one by one: last:20s, first:20s, last:400000; others are added up");
  verb.option("--layers", request.layers, "of a program: torch names kernels by the modules of PyTorch");
}

void reject_program_options(const ProgramRequest& request) {
  const std::pair<const std::string*, const char*> options[] = {
      {&request.step_range, "--step-range"}, {&request.window, "--window"}, {&request.layers, "--layers"}};
  for (const auto& [value, name] : options)
    if (!value->empty())
      reject(Hint{"headroom profile -- PROGRAM ARGS"}, "{} is about a program after --", name);
}

void profile_program(const ProgramRequest& request, const ProfileOptions& options, const Common& common,
                     const RecordFiles& files) {
  const inject::WindowRule window = parsed_window(request.window);
  if (!request.layers.empty() && request.layers != "torch")
    reject(Hint{"only the layers of torch can be named"}, "--layers is '{}'", request.layers);
  require_program(options);
  require_files(files);
  const fs::path library = injection_library();
  const ProcessFolder folder(options.out);
  name_layers(request.layers, library);
  for (const char* name : kInjectionVariables) ::setenv(name, library.c_str(), 1);
  ::setenv(inject::kFolderVariable, folder.path().c_str(), 1);
  ::setenv(inject::kWindowVariable, inject::to_text(window).c_str(), 1);

  EndedProgram ended = run_program(request, options, common.json);
  const EndedProcess process = ended.process;
  if (process.code != 0) note(fmt::format("headroom: the program ended with {}\n", program_ending(process)));
  const std::vector<ProcessRecord> processes = inject::read_processes(folder.path());
  if (processes.empty()) {
    const char* const hint = "headroom watch shows what programs do on CPUs";
    note(fmt::format("headroom: no CUDA was used, so there is nothing to profile\n  {}\n", hint));
    throw Interrupted{process.code != 0 ? process.code : 1};
  }
  const RunProfile profile = profile_of(request, options, ended, processes);
  Saving saving;
  if (!options.out.empty())
    saving.attempt([&] { write_profile(profile, options.out, static_cast<int>(options.trace_steps)); });
  saving.attempt([&] { write_files(files, profile); });
  print_program(profile, options, common, processes, process);
  flush_output();
  saving.finish();
  if (!options.out.empty()) note(fmt::format("headroom: the profile is in {}\n", options.out));
  if (process.code != 0) throw Interrupted{process.code};
}

}  // namespace headroom::cli
