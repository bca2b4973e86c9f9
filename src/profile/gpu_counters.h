#pragma once

// What a GPU of NVIDIA counts while kernels run, under names of ours. All are sums, so that kernels add up to
// layers and ratios can be made of sums.

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

struct GpuCounter {
  const char* name;
  const char* what;
  // CUPTI's names: the first that a chip has counts.
  std::vector<const char*> metrics;
  // Counted in the same pass, since ratios are made of both.
  std::vector<const char*> with = {};
};
struct GpuCounterSet {
  const char* name;
  const char* what;
  std::vector<std::string> counters;
};

std::span<const GpuCounter> gpu_counters();
std::span<const GpuCounterSet> gpu_counter_sets();
// Names of sets and counters, and metrics of CUPTI that are sums, separated by commas: each once. Rejects
// unknown names.
std::vector<std::string> gpu_counters_named(const std::string& request);
bool is_cupti_metric(const std::string& counter);  // named by its user as CUPTI does

// Counters that a GPU counts at the same time, while a step of a training runs.
struct CounterPass {
  std::vector<std::string> counters, metrics;  // in the same order
  int runs = 1;                                // steps it takes; 1 unless the only counter needs more
};
struct CounterPasses {
  std::string chip;
  std::vector<CounterPass> passes = {};
  std::vector<std::string> missing = {};  // counters that the chip does not have

  int runs() const;
  std::string text() const;  // "pass 1: cycles, issued; pass 2: branches"
};

// How the metrics of a chip share its counters: number of runs that all of them together take; 0 if the chip
// lacks one of them.
using RunsOfMetrics = std::function<int(const std::vector<std::string>& metrics)>;
// Puts each counter into the first pass that has room for it and what it is counted with.
CounterPasses split_into_passes(const std::vector<std::string>& counters, const std::string& chip,
                                const RunsOfMetrics& runs_of);

// How measurements name the counters of a pass. Pass 0 is what the plan says: launches, flops, bytes.
std::string counter_key(std::size_t pass, const std::string& counter);  // "2:branches"

}  // namespace headroom
