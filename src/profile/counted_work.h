#pragma once

// What a GPU counted while a kernel ran, as amounts that compare with the kernel's own account of its work.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/work.h"
#include "profile/step_counts.h"

namespace headroom {

struct CountedWork {
  std::map<std::string, double> counters = {};  // of one run, by pass and name: "2:branches"

  std::optional<double> counter(const std::string& name) const;  // of the first pass that has it
  // Two for every multiply-add of threads and of tensor cores. Empty unless all of operation_counters()
  // were counted: a sum of some would look like less work.
  std::optional<double> flops() const;
  // Between multiprocessors and the L2 cache; without that counter everything that was asked of the cache.
  std::optional<double> l2_bytes() const;
  std::optional<double> dram_bytes() const;
};

// The operations that are FLOPs. fp16 arithmetic of threads is not among them: no kernel of ours has any, and
// compilers use its instructions to set registers.
std::vector<std::string> operation_counters();

// FLOPs that the launches execute, as they say, else of whole tiles, of which a part may hold no wanted
// result.
double executed_flops(const KernelLaunch& launch);
double executed_flops(const Work& work);
double l2_bytes(const Work& work);  // through L2

// A step of a plan, and how to run it once.
struct CountedRun {
  const Step* step;
  std::function<void()> run;
};
// Runs all of them as often as `counts`, made for these steps in this order, asks for. One result each.
std::vector<CountedWork> count_runs(StepCounts& counts, Stream& stream, std::span<const CountedRun> runs);
// A plan that is nothing but these steps, to make counts for.
Plan plan_of_runs(std::span<const CountedRun> runs);

}  // namespace headroom
