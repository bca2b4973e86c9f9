#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/trainer.h"

namespace headroom {

// How the course measured the distance between the weights of two trainings, by the year of the case.
enum class WeightNorm : std::uint8_t {
  difference,     // root of the squares of the difference
  relative,       // the same over that of the reference
  relative_rows,  // the largest sum over a row of the difference, over that of the reference
};
std::string_view name_of(WeightNorm norm);

// A graded case of the perceptron course (docs/recipes.md). What is trained stands in the recipe.
struct PerceptronCase {
  std::string name, suite, recipe;
  WeightNorm norm = WeightNorm::relative;
  std::optional<double> fp32, fp64;  // the most that any of the four arrays may be off; absent: not graded
  bool tested = false;               // has images to be tested on
  bool quick = false, usual = true;  // takes a second at the most; is run where no case is named
  std::optional<double> tolerance(DType precision) const { return precision == DType::f64 ? fp64 : fp32; }
};
const std::vector<PerceptronCase>& perceptron_cases();
const PerceptronCase& find_perceptron_case(std::string_view name);  // rejects unknown names

// One of W1, b1, W2, b2, as one process has it.
struct WeightArray {
  std::string name;
  std::int64_t rows = 0;
  std::vector<double> values;
};

struct TrainedPerceptron {
  double seconds = 0;  // training alone; of several ranks the slowest one's
  double first_loss = 0, loss = 0;
  double accuracy = 0;     // of cases that are tested
  double ranks_apart = 0;  // the largest difference between a weight of any rank and the first one's
  std::vector<WeightArray> arrays;
};

struct PerceptronTask {
  Net net;
  TrainOptions train;
  const Dataset* data = nullptr;  // its test set stays empty: what is tested is tested once, at the end
  const Split* test = nullptr;    // null: nothing
};

// Trains the case by this process (no groups), or by its ranks, all of which call it.
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
  std::string why;  // it failed
};
// Held against the serial training, and against the figures that the course's reports print.
PerceptronVerdict judge(const PerceptronCase& which, DType precision,
                        const std::map<std::string, double>& published, const TrainedPerceptron& trained,
                        const std::vector<ArrayError>& errors);

}  // namespace headroom
