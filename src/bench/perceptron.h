#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/trainer.h"

namespace headroom {

// The course's distance between the weights of two trainings, by the year of the case.
enum class WeightNorm : std::uint8_t {
  difference,     // root of the sum of squared differences
  relative,       // the same, divided by that of the reference
  relative_rows,  // max row sum of the difference, divided by that of the reference
};
std::string_view name_of(WeightNorm norm);

// A graded case of the perceptron course (docs/recipes.md). The recipe says what is trained.
struct PerceptronCase {
  std::string name, suite, recipe;
  WeightNorm norm = WeightNorm::relative;
  std::optional<double> fp32, fp64;  // max error of any of the four arrays; absent: not graded
  bool tested = false;               // has test images
  bool quick = false, usual = true;  // takes at most a second; runs by default
  std::optional<double> tolerance(DType precision) const { return precision == DType::f64 ? fp64 : fp32; }
};
const std::vector<PerceptronCase>& perceptron_cases();
const PerceptronCase& find_perceptron_case(std::string_view name);  // rejects unknown names

// One of W1, b1, W2, b2, as a single process has it.
struct WeightArray {
  std::string name;
  std::int64_t rows = 0;
  std::vector<double> values;
};

struct TrainedPerceptron {
  double seconds = 0;  // training only; with several ranks, the slowest
  double first_loss = 0, loss = 0;
  double accuracy = 0;     // of cases with a test
  double ranks_apart = 0;  // max difference between a weight of any rank and the first's
  std::vector<WeightArray> arrays;
};

struct PerceptronTask {
  Net net;
  TrainOptions train;
  const Dataset* data = nullptr;  // its test set stays empty: the test runs once, at the end
  const Split* test = nullptr;    // null: no test
};

// Trains the case in this process (no groups), or on its ranks, which all call it.
TrainedPerceptron train_perceptron(const PerceptronTask& task, Device& device, EngineOptions options);

struct ArrayError {
  std::string name;
  double difference = 0, relative = 0, relative_rows = 0;
  double by(WeightNorm norm) const;
};
std::vector<ArrayError> array_errors(const std::vector<WeightArray>& arrays,
                                     const std::vector<WeightArray>& reference);

struct PerceptronVerdict {
  bool graded = false, passed = true;
  double held = 0;  // the largest error, by the case's norm
  std::string why;  // reason of a failure
};
// Compares with the serial training, and with the figures in the course's reports.
PerceptronVerdict judge(const PerceptronCase& which, DType precision,
                        const std::map<std::string, double>& published, const TrainedPerceptron& trained,
                        const std::vector<ArrayError>& errors);

}  // namespace headroom
