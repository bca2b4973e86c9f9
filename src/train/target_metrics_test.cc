// Scores of predicted numbers and labels; the expected values are those of scikit-learn.
#include "train/target_metrics.h"

#include <gtest/gtest.h>

#include <vector>

namespace headroom {
namespace {

TEST(RegressionScores, AreThoseOfScikitLearn) {
  const std::vector<float> targets = {1, 10, 2, 10, 4, 12, 8, 9};
  const std::vector<double> predicted = {1.5, 10, 2, 11, 3, 12, 7, 8.5};
  const RegressionScores scores = regression_scores(predicted, targets, 2);
  EXPECT_DOUBLE_EQ(scores.mean_absolute, 0.5);
  EXPECT_DOUBLE_EQ(scores.mean_squared, 0.4375);
  EXPECT_NEAR(scores.r2, 0.8292906178489703, 1e-15);
}

TEST(RegressionScores, OfATargetThatNeverChanges) {
  const std::vector<float> targets = {3, 3, 3};
  EXPECT_EQ(regression_scores(std::vector<double>{3, 3, 3}, targets, 1).r2, 1);
  EXPECT_EQ(regression_scores(std::vector<double>{3, 3, 4}, targets, 1).r2, 0);
}

TEST(LabelScores, AreThoseOfScikitLearn) {
  // The third label never occurs, and is predicted once. Two rows have the same score for the first.
  const std::vector<float> targets = {1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  const std::vector<double> logits = {2, -1, -1, -0.5, 3, 0.5, 0.25, -1, -2, -3, 0.25, -1, 2, -2, -3};
  const LabelScores scores = label_scores(logits, targets, 3);
  EXPECT_NEAR(scores.micro_f1, 0.5454545454545454, 1e-15);
  EXPECT_NEAR(scores.macro_f1, 0.38888888888888884, 1e-15);
  EXPECT_NEAR(scores.mean_average_precision, 0.8333333333333333, 1e-15);
  EXPECT_NEAR(scores.all_right, 0.4, 1e-15);
}

TEST(LabelScores, EqualScoresAreRankedTogether) {
  // All four rows at once: half of them have the label.
  const std::vector<float> targets = {1, 0, 1, 0};
  EXPECT_EQ(label_scores(std::vector<double>{1, 1, 1, 1}, targets, 1).mean_average_precision, 0.5);
}

}  // namespace
}  // namespace headroom
