#pragma once

#include <optional>

#include "base/statistics.h"
#include "cli/experiment.h"
#include "train/run_curve.h"

namespace headroom::cli {

struct TtaOptions {
  double target = 0;
  std::optional<double> reference;  // a coefficient of variation
  bool count_eval = false;          // in the seconds
};

// One training, judged.
struct TtaRun {
  std::size_t row = 0;
  std::uint64_t seed = 0;
  RunCurve curve = {};
  const TestPoint* reached = nullptr;  // into the curve; null: it was not
  std::optional<double> wild = {};
  Utilisation use = {};
  std::string problem = {};  // if it failed
  double seconds = 0;        // to the target
  double accuracy() const { return curve.tests.back().accuracy; }
};

class TtaReport {
 public:
  TtaReport(const Experiment& experiment, const TtaOptions& options, std::vector<ExperimentRun> runs);

  BenchOutput output(const Common& common) const;
  std::int64_t reached() const;
  double best_accuracy() const;

 private:
  struct Quantity {
    std::string key, title;
    std::size_t row;
    Statistics of;
  };
  std::string head() const;
  std::string after_runs(const TableView& view) const;
  Sheet runs_sheet() const;
  std::vector<Quantity> quantities() const;
  Sheet statistics_sheet() const;
  Sheet comparison_sheet() const;
  std::vector<double> seconds_of(std::size_t row) const;
  Json json() const;
  std::string chart() const;
  bool has_wild() const;
  bool has_gpu() const;
  bool has_problem() const;
  bool compares() const { return experiment_.rows().size() > 1; }

  const Experiment& experiment_;
  TtaOptions options_;
  std::vector<TtaRun> runs_;
};

}  // namespace headroom::cli
