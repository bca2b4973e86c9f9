#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/perceptron.h"
#include "bench/published_perceptron.h"
#include "bench/sampler.h"
#include "cli/bench_output.h"
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

// Prints rows as they arrive and collects them as JSON.
class PerceptronReport {
 public:
  explicit PerceptronReport(int threads);
  void add(const PerceptronRow& row);
  bool failed() const { return failed_; }
  Json json() const;
  BenchTable table() const;

 private:
  int threads_;
  Json rows_ = Json::array();
  bool failed_ = false;
  Sheet sheet_;
  std::string faults_, last_;
  std::set<std::string> suites_;
  std::set<char> sources_;
};

}  // namespace headroom::cli
