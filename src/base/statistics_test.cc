// Known quantiles from printed tables, known samples, and the coverage of the intervals.
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace headroom {
namespace {

TEST(Statistics, QuantilesAreThoseOfPrintedTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.77645, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 30), 2.04227, 1e-5);
  EXPECT_NEAR(student_quantile(0.025, 4), -2.77645, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 999), 1.96234, 1e-5);
  EXPECT_NEAR(chi_square_quantile(0.975, 1), 5.02389, 1e-5);
  EXPECT_NEAR(chi_square_quantile(0.025, 4), 0.484419, 1e-6);
  EXPECT_NEAR(chi_square_quantile(0.975, 4), 11.1433, 1e-4);
  EXPECT_NEAR(chi_square_quantile(0.95, 100), 124.342, 1e-3);
  EXPECT_NEAR(chi_square_quantile(0.975, 999), 1088.487, 1e-2);
}

TEST(Statistics, OfAKnownSample) {
  const Statistics s = statistics_of(std::vector<double>{10, 12, 23, 23, 16, 23, 21, 16});
  EXPECT_EQ(s.samples, 8);
  EXPECT_DOUBLE_EQ(s.mean, 18);
  EXPECT_NEAR(s.deviation, 5.2372293656638, 1e-12);  // the root of 192 / 7
  EXPECT_NEAR(*s.variation, 0.290957187, 1e-8);
  EXPECT_NEAR(s.mean_interval->low, 18 - 2.364624 * 5.237229 / std::sqrt(8.0), 1e-4);
  EXPECT_NEAR(s.mean_interval->high, 18 + 2.364624 * 5.237229 / std::sqrt(8.0), 1e-4);
}

// Worked by hand with the quantiles 11.1433 and 0.484419: n = 5, coefficient 0.1.
TEST(Statistics, IntervalOfTheCoefficientOfVariation) {
  const double d = 10 / std::sqrt(2.5);  // makes the deviation of the sample exactly 10
  const Statistics s = statistics_of(std::vector<double>{100 - 2 * d, 100 - d, 100, 100 + d, 100 + 2 * d});
  EXPECT_NEAR(*s.variation, 0.1, 1e-12);
  EXPECT_NEAR(s.variation_interval->low, 0.1 / std::sqrt(((11.1433 + 2) / 5 - 1) * 0.01 + 11.1433 / 4), 1e-6);
  EXPECT_NEAR(s.variation_interval->high, 0.1 / std::sqrt(((0.484419 + 2) / 5 - 1) * 0.01 + 0.484419 / 4),
              1e-6);
}

TEST(Statistics, OfTooFewSamples) {
  EXPECT_EQ(statistics_of({}).samples, 0);
  const Statistics one = statistics_of(std::vector<double>{3});
  EXPECT_EQ(one.mean, 3);
  EXPECT_FALSE(one.variation || one.mean_interval || one.variation_interval);
  EXPECT_FALSE(difference_of_means(std::vector<double>{1}, std::vector<double>{1, 2}));
}

TEST(Statistics, EqualSamplesDoNotVary) {
  const Statistics s = statistics_of(std::vector<double>{2, 2, 2});
  EXPECT_EQ(*s.variation, 0);
  EXPECT_EQ(s.variation_interval->high, 0);
  EXPECT_EQ(s.mean_interval->low, 2);
  EXPECT_EQ(difference_of_means(std::vector<double>{1, 1}, std::vector<double>{2, 2})->interval.low, 1);
}

TEST(Statistics, WithoutAnUpperEndThereIsNoInterval) {
  const Statistics s = statistics_of(std::vector<double>{1, 10, 20});
  EXPECT_TRUE(s.variation);
  EXPECT_FALSE(s.variation_interval);
  EXPECT_FALSE(statistics_of(std::vector<double>{-1, 1}).variation);  // no mean to divide by
}

// By hand: variances of the means 0.408958 and 1919.26, 2.00085 degrees of freedom, for which t is 4.301.
TEST(Statistics, DifferenceOfMeans) {
  const std::vector<double> a = {3.0, 4.0, 1.0, 2.1}, b = {490.2, 340.0, 433.9};
  const auto d = difference_of_means(a, b);
  EXPECT_NEAR(d->difference, 418.8417, 1e-3);
  EXPECT_NEAR(d->interval.high - d->difference, 4.301 * std::sqrt(0.408958 + 1919.26), 0.05);
  EXPECT_NEAR(d->difference - d->interval.low, 4.301 * std::sqrt(0.408958 + 1919.26), 0.05);
}

// Of samples from known distributions, 95 % of the intervals hold the truth.
TEST(Statistics, IntervalsCoverTheTruth) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> value(100, 8);
  int mean_inside = 0, variation_inside = 0, difference_inside = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> one(5), two(5);
    for (double& x : one) x = value(random);
    for (double& x : two) x = 50 + 3 * (value(random) - 100);
    const Statistics s = statistics_of(one);
    const auto holds = [](const ConfidenceInterval& i, double truth) {
      return i.low < truth && truth < i.high;
    };
    mean_inside += holds(*s.mean_interval, 100);
    variation_inside += holds(*s.variation_interval, 0.08);
    difference_inside += holds(difference_of_means(one, two)->interval, -50);
  }
  for (const int inside : {mean_inside, variation_inside, difference_inside})
    EXPECT_NEAR(double(inside) / kTrials, 0.95, 0.02);
}

}  // namespace
}  // namespace headroom
