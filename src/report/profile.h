#pragma once

#include <optional>

#include "bench/layer_energy.h"
#include "profile/run_facts.h"
#include "profile/sample_store.h"
#include "profile/trace.h"
#include "report/record.h"

namespace headroom {

// A profiled run: its record, with both readings of the plan, and the trace of the steps that were watched.
// Every table is a function of it.
struct RunProfile {
  RunRecord record = {};
  Trace trace = {};  // empty: none was taken
  std::optional<Samples> samples = {};
  double samples_begin_s = 0;  // since the start of the trace
  struct Loss {
    double seconds = 0, value = 0;  // since the start of the trace
  };
  std::vector<Loss> losses = {};
  std::optional<LayerEnergy> energy = {};
  std::vector<RunFact> facts = {};  // of the first rank
};

// The verb of a record of a program that is not ours: the settings of headroom do not apply to it.
inline constexpr std::string_view kProgramVerb = "profile program";
inline bool is_of_program(const RunProfile& profile) { return profile.record.verb == kProgramVerb; }

// T1: where the time of a step went, as parts that add up to it. With several ranks one column each, and the
// part of communication that waits for the last rank is known only if all ranks are in the trace.
struct StepParts {
  double compute = 0;
  double transfer = 0,
         waiting = 0;  // communication that nothing hides: moving data; waiting for the last rank
  double copies = 0;   // between host and device, hidden by nothing
  double host = 0;     // the host computes, and no other part runs
  double launch = 0, loader = 0, synchronisation = 0, dependency = 0;  // the device is idle, by cause
  double step = 0;                                                     // all of it
  int steps = 0;                                                       // watched
  double sum() const {
    return compute + transfer + waiting + copies + host + launch + loader + synchronisation + dependency;
  }
};
StepParts step_parts(const Trace& trace, int rank = 0);
Sheet step_sheet(const Trace& trace);
// The older split of the same time: copies to and from the device, kernels, and what is left to the CPU.
Sheet split_sheet(const Trace& trace);

// T6: both readings of every layer, with rows for what belongs to none, so that they add up to the step.
Sheet profiled_layer_sheet(const RunProfile& profile);
Sheet profiled_layer_columns();  // without rows
// The steps of one layer, and their kernels. Rejects an unknown layer with the nearest names.
Sheet open_layer_sheet(const RunProfile& profile, const std::string& layer);

}  // namespace headroom
