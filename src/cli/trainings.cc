#include "cli/trainings.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "profile/nvml_source.h"
#include "profile/proc_sources.h"

namespace headroom::cli {
namespace {

// A file without a name: whatever happens, nothing is left behind.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("headroom", MFD_CLOEXEC)) {
    if (file_ < 0)
      throw Error(Blame::run, fmt::format("cannot make a file in memory: {}", std::strerror(errno)));
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return file_; }
  std::string text() const {
    std::string bytes;
    char piece[1 << 16];
    for (ssize_t got; (got = ::pread(file_, piece, sizeof piece, static_cast<off_t>(bytes.size()))) > 0;)
      bytes.append(piece, static_cast<std::size_t>(got));
    return bytes;
  }

 private:
  int file_;
};

constexpr double kSampleEvery = 0.05;  // seconds

std::vector<std::unique_ptr<SampleSource>> sources_of(int pid, const std::string& gpu) {
  std::vector<std::unique_ptr<SampleSource>> sources;
  sources.push_back(process_source(pid));
  if (gpu != "cpu") sources.push_back(nvml_source());
  return sources;
}

Utilisation utilisation_of(const Samples& samples, const std::string& gpu) {
  const std::size_t colon = gpu.find(':');
  const std::string number = colon == gpu.npos ? "0" : gpu.substr(colon + 1);
  const auto summary = [&](const std::string& key) -> const SeriesSummary* {
    for (const Series& series : samples.series)
      if (series.info.key == key && series.summary.readings > 0) return &series.summary;
    return nullptr;
  };
  const auto mean = [&](const std::string& key) -> std::optional<double> {
    const SeriesSummary* found = summary(key);
    return found != nullptr ? std::optional(found->mean) : std::nullopt;
  };
  std::optional<double> memory;
  if (const SeriesSummary* found = summary("command_memory_mb")) memory = 1e6 * found->max;
  return {mean("command_cpu_percent"), memory, mean(fmt::format("gpu{}_busy_percent", number)),
          mean(fmt::format("gpu{}_memory_busy_percent", number))};
}

// The last message of a program that failed, in one line.
std::string problem_of(const std::string& err, const EndedProcess& ended) {
  constexpr std::string_view kBegin = "headroom: ";
  std::string found;
  for (const std::string& line : split(err, '\n'))
    if (line.starts_with(kBegin)) found = line.substr(kBegin.size());
  if (!found.empty()) return found;
  return ended.signal != 0 ? fmt::format("ended by signal {} ({})", ended.signal, ::strsignal(ended.signal))
                           : fmt::format("ended with exit code {}", ended.code);
}

class RunningTraining {
 public:
  RunningTraining(std::size_t number, const TrainingJob& job, const HeldSignals& signals)
      : number_(number),
        device_(job.device),
        process_(program_and(job.words), signals, false, {out_.descriptor(), err_.descriptor()}),
        sampler_(sources_of(process_.pid(), job.device), kSampleEvery) {}

  std::size_t number() const { return number_; }
  bool has_ended() const { return process_.has_ended(); }
  void signal(int which) const { process_.signal_all(which); }
  TrainingOutcome outcome() {
    TrainingOutcome result;
    result.use = utilisation_of(sampler_.stop(), device_);
    const EndedProcess ended = process_.collect();
    result.code = ended.code, result.wall_s = ended.wall_s;
    result.json = Json::parse(out_.text(), nullptr, false);
    if (!result.json.is_object()) result.json = nullptr;
    for (const char* bulky : {"layers", "metrics"})
      if (result.json.is_object()) result.json.erase(bulky);
    if (ended.code != 0) result.problem = problem_of(err_.text(), ended);
    return result;
  }

 private:
  static std::vector<std::string> program_and(const std::vector<std::string>& words) {
    std::vector<std::string> all = {std::filesystem::read_symlink("/proc/self/exe").string()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  std::size_t number_;
  std::string device_;
  MemoryFile out_, err_;
  ChildProcess process_;
  MachineSampler sampler_;
};

}  // namespace

Json utilisation_json(const Utilisation& use) {
  Json json = Json::object();
  if (use.cpu_percent) json["cpu_percent_of_a_core"] = *use.cpu_percent;
  if (use.memory_bytes) json["memory_bytes"] = *use.memory_bytes;
  if (use.gpu_percent) json["gpu_percent"] = *use.gpu_percent;
  if (use.gpu_memory_percent) json["gpu_memory_percent"] = *use.gpu_memory_percent;
  return json;
}

Utilisation utilisation_from(const Json& json) {
  const auto read = [&](const char* key) -> std::optional<double> {
    return json.contains(key) && json[key].is_number() ? std::optional<double>(json[key]) : std::nullopt;
  };
  return {read("cpu_percent_of_a_core"), read("memory_bytes"), read("gpu_percent"),
          read("gpu_memory_percent")};
}

void run_trainings(const std::vector<TrainingJob>& jobs, int at_once, const HeldSignals& signals,
                   const std::string& title,
                   const std::function<void(std::size_t, TrainingOutcome&&)>& ended) {
  Progress progress(title);
  std::vector<std::unique_ptr<RunningTraining>> running;
  std::size_t next = 0, done = 0;
  int stopped_by = 0;
  while (done < jobs.size() && (stopped_by == 0 || !running.empty())) {
    while (stopped_by == 0 && next < jobs.size() && std::ssize(running) < at_once) {
      running.push_back(std::make_unique<RunningTraining>(next, jobs[next], signals));
      progress.stage(fmt::format("{} of {}: {}", next + 1, jobs.size(), jobs[next].label), false);
      ++next;
    }
    constexpr double kLookEvery = 0.02;
    bool to_all = false;
    const int signal = signals.next(kLookEvery, &to_all);
    if (signal != 0 && signal != SIGCHLD) {
      stopped_by = signal;
      if (!to_all)
        for (const auto& training : running) training->signal(signal);
    }
    for (auto it = running.begin(); it != running.end();) {
      if (!(*it)->has_ended()) {
        ++it;
        continue;
      }
      TrainingOutcome outcome = (*it)->outcome();
      const std::size_t number = (*it)->number();
      it = running.erase(it);
      ++done;
      if (stopped_by != 0 && outcome.code != 0) continue;  // it was cut short
      progress.line(fmt::format("{}: {}, {}", jobs[number].label, outcome.done() ? "done" : outcome.problem,
                                human_seconds(outcome.wall_s)));
      ended(number, std::move(outcome));
    }
  }
  if (stopped_by != 0) throw Interrupted{128 + stopped_by};
}

}  // namespace headroom::cli
