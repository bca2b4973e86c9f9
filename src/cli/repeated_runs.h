#pragma once

#include <optional>
#include <string>

#include "bench/layer_energy.h"
#include "profile/gpm.h"
#include "profile/gpu_sampling.h"
#include "report/profile.h"

namespace headroom::cli {

// What a profile measures by repeating the step after the run: energy, and the counters of a GPU over time.
// Where this user may not read counters, NVML tells the use of the GPU by whole steps.
class RepeatedRuns {
 public:
  struct Options {
    bool energy = false;
    std::optional<std::int64_t> sample_us = {};  // between two samples of counters; empty: none
  };
  explicit RepeatedRuns(const Options& options) : options_(options) {}

  // `counters_refused`: other counters were asked for, and this user may not read them.
  bool wanted(bool counters_refused) const;
  // The plan must have run before. `name`: of the device. `tracer`: null if kernels cannot be traced.
  void measure(Executor& executor, Device& device, const std::string& name, KernelTracer* tracer,
               bool counters_refused);
  // Tables and notes. The profile has its record and its trace already.
  void add_to(RunProfile& profile) const;

 private:
  void measure_energy(Executor& executor, Device& device, const std::string& name);
  void sample(Executor& executor, Device& device, KernelTracer* tracer);
  void measure_use(Executor& executor, Device& device, const std::string& name);
  std::string use_note() const;

  Options options_;
  std::optional<LayerEnergy> energy_;
  std::optional<SampledStep> sampled_;
  std::string why_no_samples_, remedy_;
  bool asked_nvml_ = false;
  std::optional<GpmUse> use_;
  std::string why_no_use_;
  std::int64_t use_runs_ = 0;
};

}  // namespace headroom::cli
