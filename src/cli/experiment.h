#pragma once

// What `sweep` and `tta` share: one training per row of a grid and per seed, each a child process.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/axes.h"
#include "cli/bench_output.h"
#include "cli/trainings.h"
#include "train/finished_rows.h"

namespace headroom::cli {

struct ExperimentRequest {
  RunRequest run;
  Common common;
  Axes axes;
  BenchTarget target;
  std::string resume;      // file of finished rows
  std::int64_t seeds = 1;  // runs of every row, with seeds that follow each other
  int jobs = 0;            // at once; 0: as many as the cores allow
  VerbTree tree;           // of the verb, to take its words apart
};

// Model, recipe, everything about learning with lists where a list is possible, output and --resume.
void add_experiment_options(Command verb, ExperimentRequest& request);

struct ExperimentRun {
  std::size_t row = 0;  // of the grid
  std::uint64_t seed = 0;
  TrainingOutcome outcome = {};
  bool kept = false;  // from the file, not run now
};

class Experiment {
 public:
  // Checks everything that can be refused. `extra` words go to every training.
  Experiment(const ExperimentRequest& request, std::vector<std::string> extra);

  // Trains what is not finished yet. A run that fails does not end the others; if all were refused, so is the
  // experiment. Seeds change slower than rows: a machine that drifts does not favour a row.
  std::vector<ExperimentRun> run(const HeldSignals& signals, const std::string& title);

  const std::vector<GridAxis>& axes() const { return axes_; }
  const std::vector<GridRow>& rows() const { return rows_; }
  std::string label(std::size_t row) const { return label_of(rows_[row], varied(axes_)); }
  std::string run_label(std::size_t row, std::uint64_t seed) const;
  const RunSetup& setup() const { return *setup_; }  // of the first row
  const Machine* machine() const { return machine_ ? &*machine_ : nullptr; }
  int at_once() const { return at_once_; }
  int threads() const { return threads_; }  // of each; 0: one per core

 private:
  void require_rows();
  void load_first_data();
  std::string finished_text() const;
  TrainingJob job(std::size_t row, std::uint64_t seed) const;

  const ExperimentRequest& request_;
  std::vector<std::string> extra_, typed_;  // typed: the user's words that every training gets
  std::vector<GridAxis> axes_;
  std::vector<GridRow> rows_;
  std::optional<RunSetup> setup_;
  std::optional<Machine> machine_;
  FinishedRows finished_;
  int at_once_ = 1, threads_ = 0;
};

}  // namespace headroom::cli
