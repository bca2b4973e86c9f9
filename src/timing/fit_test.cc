#include "timing/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "base/random.h"
#include "timing/calibration.h"
#include "timing/minimize.h"
#include "timing/predictor.h"

namespace headroom {
namespace {

TEST(Minimize, FindsTheBottomOfACurvedValleyWithinBounds) {
  const auto valley = [](std::span<const double> x) {
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  const std::vector<double> low = {-5, -5}, high = {5, 5};
  const auto x = minimize(valley, {-1.2, 1}, low, high, {.evaluations = 4000, .tolerance = 1e-12});
  EXPECT_NEAR(x[0], 1, 1e-3);
  EXPECT_NEAR(x[1], 1, 1e-3);
  const std::vector<double> below = {0.5, 5};
  EXPECT_LE(minimize(valley, {0, 0}, low, below, {.evaluations = 4000})[0], 0.5);
}

std::vector<TimingRow> random_gemms(std::size_t count, std::uint64_t seed) {
  std::vector<TimingRow> rows;
  const Philox random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    TimingRow row{.line = i + 2, .group = "bf16"};
    for (std::size_t s = 0; s < 3; ++s)
      row.sizes.push_back(std::round(std::exp2(5 + 8 * random.uniform(3 * i + s))));
    rows.push_back(row);
  }
  return rows;
}

// Rows made by the formula itself: a fit finds the constants that matter, and the times of other rows.
TEST(FitConstants, FindsTheConstantsThatMadeTheRows) {
  const KernelForm& form = find_form("gemm");
  const Machine h200 = find_machine("h200");
  std::vector<double> truth = starting_values(form.constants("bf16"));
  truth[0] = 0.7, truth[1] = 0.9, truth[2] = 2;
  PreparedRows rows;
  for (const TimingRow& row : random_gemms(150, 3)) {
    rows.rows.push_back(form.prepare(row, h200, {}));
    rows.measured_s.push_back(fastest(*rows.rows.back(), truth).seconds);
  }
  const std::vector<double> found = fit_constants(form.constants("bf16"), rows);
  EXPECT_NEAR(found[0], 0.7, 0.03);
  EXPECT_NEAR(found[1], 0.9, 0.03);
  double error = 0;
  for (const TimingRow& row : random_gemms(200, 4)) {
    const auto prepared = form.prepare(row, h200, {});
    error += std::abs(fastest(*prepared, found).seconds / fastest(*prepared, truth).seconds - 1) / 200;
  }
  EXPECT_LT(error, 0.015);
}

// Two devices that differ in their hosts alone: one fit finds what they share, and the host of each.
TEST(FitConstants, DevicesShareAllButTheirHosts) {
  const KernelForm& form = find_form("linear");
  const std::vector<Constant>& constants = form.constants("fp32");
  std::vector<double> truth = starting_values(constants);
  truth[0] = 0.75, truth[1] = 0.6;
  ASSERT_TRUE(constants[2].of_host);
  std::vector<PreparedRows> devices(2);
  for (const std::size_t d : {0u, 1u}) {
    const Machine machine = find_machine(d == 0 ? "v100-pcie" : "a100-pcie-40");
    truth[2] = d == 0 ? 6 : 15;
    for (TimingRow row : random_gemms(150, 5 + d)) {
      row.group = "fp32", row.sizes.insert(row.sizes.begin(), row.line % 2 == 0 ? 1.0 : 20.0);
      devices[d].rows.push_back(form.prepare(row, machine, {}));
      devices[d].measured_s.push_back(fastest(*devices[d].rows.back(), truth).seconds);
    }
  }
  const auto found = fit_shared_constants(constants, devices, {.starts = 1});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0][0], found[1][0]);
  EXPECT_NEAR(found[0][0], 0.75, 0.05);
  EXPECT_NEAR(found[0][1], 0.6, 0.05);
  EXPECT_NEAR(found[0][2], 6, 1);
  EXPECT_NEAR(found[1][2], 15, 1.5);
}

TEST(Trees, LearnAStepAndComeBackFromJson) {
  FeatureRows x;
  std::vector<double> y;
  const Philox random(1);
  for (std::size_t i = 0; i < 200; ++i) {
    x.add(std::vector<double>{random.uniform(2 * i), random.uniform(2 * i + 1)});
    y.push_back(x.row(i)[0] > 0.5 ? 0.2 : -0.1);
  }
  const Trees trees = Trees::fit(x, y, {});
  EXPECT_NEAR(trees.predict(std::vector<double>{0.9, 0.1}), 0.2, 0.02);
  EXPECT_NEAR(trees.predict(std::vector<double>{0.1, 0.9}), -0.1, 0.02);
  EXPECT_EQ(Trees::from_json(Json::parse(trees.to_json().dump()), "t", 2), trees);
  EXPECT_THROW(Trees::from_json(trees.to_json(), "t", 1), Error);
}

TEST(Ridge, RunsBetweenItsPointsAndFadesAway) {
  FeatureRows places;
  for (const double x : {0.0, 1.0, 2.0}) places.add(std::vector<double>{x});
  const Ridge ridge = Ridge::fit(places, std::vector<double>{0, 0.1, 0.2}, 1e-6);
  EXPECT_NEAR(ridge.predict(std::vector<double>{1.0}), 0.1, 1e-3);
  EXPECT_NEAR(ridge.predict(std::vector<double>{1.5}), 0.15, 0.02);
  EXPECT_NEAR(ridge.predict(std::vector<double>{100.0}), 0, 1e-9);
}

TEST(Intervals, AreTheKthSmallestAndLargestOfThreeBuckets) {
  std::vector<double> predicted, residuals;
  for (int b = 0; b < 3; ++b)
    for (int i = 0; i < 99; ++i) {
      predicted.push_back((b + 1) * 1e-5 + i * 1e-9);
      residuals.push_back((b + 1) * 0.001 * (i - 49));
    }
  const Intervals intervals = Intervals::from_residuals(predicted, residuals);
  ASSERT_EQ(intervals.buckets().size(), 3u);
  EXPECT_NEAR(std::log(intervals.at(1e-5).high), 0.0445, 1e-5) << "between the fifth and the sixth of 99";
  EXPECT_NEAR(std::log(intervals.at(1).low), -0.1335, 1e-5);
  EXPECT_EQ(
      Intervals::from_residuals(std::vector<double>(30, 1.0), std::vector<double>(30, 0.0)).buckets().size(),
      1u);
  const Intervals wide = intervals.widened_to(Intervals::from_buckets({{1.5e-5, 0.5, 1.01}, {0, 0.99, 3}}));
  EXPECT_EQ(wide.at(1e-5).low, 0.5);
  EXPECT_EQ(wide.at(1e-5).high, intervals.at(1e-5).high);
  EXPECT_EQ(wide.at(1).high, 3);
}

}  // namespace
}  // namespace headroom
