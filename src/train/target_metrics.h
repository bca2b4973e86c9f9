#pragma once

#include <cstdint>
#include <span>

namespace headroom {

// The quality of numbers that were predicted: rows of `each` targets.
struct RegressionScores {
  double mean_absolute = 0, mean_squared = 0;  // errors over all numbers
  // 1 minus the squared error's share of the variance, the mean over the targets. A target that never changes
  // gives 1 if it is predicted exactly, else 0.
  double r2 = 0;
};
RegressionScores regression_scores(std::span<const double> predicted, std::span<const float> targets,
                                   std::int64_t each);

// The quality of labels of which any number may apply. A label is predicted where its score is above 0: its
// probability is above one half.
struct LabelScores {
  double micro_f1 = 0;  // 2 tp / (2 tp + fp + fn), counted over all labels together
  double macro_f1 = 0;  // the mean over the labels; 0 for a label that neither occurs nor is predicted
  // The mean over the labels that occur: the precision at each place where one is found, rows ordered by
  // score, equal scores together.
  double mean_average_precision = 0;
  double all_right = 0;  // share of rows with every label right
};
LabelScores label_scores(std::span<const double> scores, std::span<const float> targets, std::int64_t each);

}  // namespace headroom
