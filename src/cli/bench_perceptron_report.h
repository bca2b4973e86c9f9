#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/table.h"
#include "bench/perceptron.h"
#include "bench/published_perceptron.h"
#include "bench/sampler.h"
#include "cli/run_setup.h"

namespace headroom::cli {

// One line of the result.
struct PerceptronRow {
  const PerceptronCase& of;
  const RunSetup& setup;
  std::int64_t images;
  std::string precision, device;
  int ranks;
  const TrainedPerceptron& serial;
  TrainedPerceptron trained;
  Sampled seconds;
  std::vector<ArrayError> errors;
  PerceptronVerdict verdict;

  std::string word() const { return !verdict.graded ? "not graded" : verdict.passed ? "pass" : "FAIL"; }
  std::optional<double> tolerance() const { return of.tolerance(*parse_dtype(precision)); }
  std::vector<PublishedTraining> published() const {
    return published_trainings(of.name, precision, device, ranks);
  }
};

// Rows as they come, for people and as JSON.
class PerceptronReport {
 public:
  explicit PerceptronReport(int threads) : threads_(threads) {}
  void add(const PerceptronRow& row);
  bool failed() const { return failed_; }
  Json json() const;
  void show();

 private:
  int threads_;
  Json rows_ = Json::array();
  bool failed_ = false;
  Table table_{{"case", "precision", "on", "ranks", "serial s", "parallel s", "faster", "W1", "b1", "W2",
                "b2", "held", "at most", "accuracy", "verdict", "published s"}};
  std::string faults_, last_;
  std::set<std::string> suites_;
  std::set<char> sources_;
};

}  // namespace headroom::cli
