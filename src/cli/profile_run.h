#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/repeated_runs.h"
#include "cli/run_watch.h"
#include "profile/profiler.h"
#include "profile/sampler.h"
#include "report/profile.h"
#include "train/inference.h"
#include "train/trainer.h"

namespace headroom::cli {

struct ProfileOptions {
  std::string out;                         // folder for the files; empty: none
  std::string card, open, zoom;            // a kernel, a layer, a range to show alone
  std::string counters;                    // sets and counters, or "list"
  std::string chip;                        // of a GPU whose counters are listed; empty: the usual one
  bool on_gpu = false;                     // counters are those of a GPU
  std::optional<std::string> pm_sampling;  // microseconds between two samples of counters; empty: the usual
  std::string code;                        // a part of the names of kernels whose machine code is described
  std::int64_t steps = 20;                 // to watch
  std::int64_t sample_ms = 100;
  std::int64_t trace_steps = 50;  // in the trace files
  bool memory = false;            // show the memory of the step alone
  bool energy = false;            // per layer, each repeated for a second
  bool prove = false;             // try the remedies of the findings
  bool managed = false;           // pages of managed memory that move, too
  bool nvtx = false;              // spans are ranges for NVIDIA's tools, too
};
void add_profile_options(Command verb, ProfileOptions& options);
void add_profile_folder(Command verb, ProfileOptions& options);  // --profile DIR, of other verbs
void require_profile(const ProfileOptions& options);  // before the run: numbers, and a folder to write to

// The ranges below the one that --zoom names; rejects an unknown one.
Sheet zoom_sheet(const RunProfile& profile, const std::string& range);

// One profiled run of this process, from its first moment to the printed tables.
class ProfileRun : public TrainObserver {
 public:
  explicit ProfileRun(const ProfileOptions& options);

  // Rejects a layer to open that the plan does not have, and a kernel's card on a CPU.
  StepWatch& watch(Device& device, const Plan& plan, int rank = 0);
  void on_step(std::int64_t step, std::int64_t of, double loss) override;
  // If something needs it: a training on random images, or the last forward pass.
  void measure_repeated(const Engine::Ready& ready, Device& device, const std::string& name);
  void measure_repeated(Executor& executor, Device& device, const std::string& name);
  bool is_done() const { return profiler_.is_done(); }

  // Ends the recording and joins the trace with the record of the run. With several ranks the first gets the
  // traces of all; call it on every rank.
  const RunProfile& finish(RunRecord record, const Plan& plan, Groups* groups = nullptr);
  // After that: what the record shows over the time of a training.
  void add_progress(const RunWatch& watch) { watch.add_to(profile_.record); }
  const RunProfile& profile() const { return profile_; }
  bool has_folder() const { return !options_.out.empty(); }
  void add_proofs(Sheet proofs) { proofs_ = std::move(proofs); }
  void print(const Common& common) const;
  // The folder, if one was given: before printing, so that a reader who stops early loses nothing.
  void write() const;
  void say_where() const;  // and whether nothing could be watched

 private:
  ProfileOptions options_;
  Profiler profiler_;
  std::optional<MachineSampler> sampler_;
  std::vector<RunProfile::Loss> losses_;
  RepeatedRuns repeated_;
  std::vector<RunFact> gpu_facts_;
  RunProfile profile_;
  std::optional<Sheet> proofs_;
};

// Repeats the last pass until the profile has seen its steps.
void watch_passes(Inference& inference, Device& device, ProfileRun& profile);

}  // namespace headroom::cli
