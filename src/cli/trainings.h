#pragma once

// Trainings as child processes of this program: `headroom train … --json`. A process that crashes or runs out
// of memory takes no other with it, each has its own cores, and times are those that `train` itself reports.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/child_process.h"

namespace headroom::cli {

struct TrainingJob {
  std::vector<std::string> words;  // after "headroom": train, its options, --json
  std::string label;               // for progress
  std::string device = "cpu";      // whose use to read: cpu, cuda, cuda:1
};

// The use of the machine from the start of a process to its end. Empty: not read.
struct Utilisation {
  std::optional<double> cpu_percent;         // of one core, by the process
  std::optional<double> memory_bytes;        // of the host, the most that a sample saw
  std::optional<double> gpu_percent;         // share of time in which the GPU computed
  std::optional<double> gpu_memory_percent;  // share of time in which its memory was busy
};
Json utilisation_json(const Utilisation& use);
Utilisation utilisation_from(const Json& json);

struct TrainingOutcome {
  Json json;            // what the training printed; null if it printed nothing
  std::string problem;  // its message, if it failed
  int code = 0;
  double wall_s = 0;
  Utilisation use;
  bool done() const { return json.is_object() && (code == 0 || json.contains("diverged")); }
};

// Runs all, `at_once` at a time, and calls `ended` for each. After SIGINT or SIGTERM the running ones end,
// and Interrupted is thrown.
void run_trainings(const std::vector<TrainingJob>& jobs, int at_once, const HeldSignals& signals,
                   const std::string& title,
                   const std::function<void(std::size_t, TrainingOutcome&&)>& ended);

}  // namespace headroom::cli
