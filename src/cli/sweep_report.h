#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/experiment.h"
#include "train/run_curve.h"

namespace headroom::cli {

// What one training of a sweep came to. Empty: the training does not have it.
struct SweepRun {
  std::size_t row = 0;
  std::uint64_t seed = 0;
  RunCurve curve = {};
  std::optional<double> accuracy = {}, loss = {}, test_loss = {};
  std::optional<double> train_s = {}, images_per_s = {}, step_ms = {}, predicted_ms = {};
  std::optional<double> memory_bytes = {}, predicted_bytes = {};
  std::optional<double> other_accuracy = {}, weight_error = {};  // of a comparison of two devices
  Utilisation use = {};
  std::string problem = {};
};
SweepRun sweep_run(ExperimentRun&& run);

class SweepReport {
 public:
  SweepReport(const Experiment& experiment, std::vector<ExperimentRun> runs, bool several_seeds);

  BenchOutput output(const Common& common) const;
  bool any_done() const;
  std::string first_problem() const;

 private:
  Sheet runs_sheet() const;
  Sheet effect_sheet(const std::string& axis) const;
  const SweepRun* best() const;  // by test accuracy, else by test loss
  std::string best_text() const;
  bool compares() const;  // two devices
  bool has_gpu() const;   // whose use was read

  const Experiment& experiment_;
  std::vector<SweepRun> runs_;
  bool several_seeds_;
};

// Names of the charts for this grid, known before the first run: "loss", and "accuracy-lr" for every axis of
// numbers.
std::vector<std::string> sweep_chart_names(const std::vector<GridAxis>& axes, bool comparison);
std::vector<ChartFile> sweep_charts(const Experiment& experiment, const std::vector<SweepRun>& runs,
                                    bool comparison);

}  // namespace headroom::cli
