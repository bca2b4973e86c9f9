#include "timing/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/random.h"
#include "base/testing/bad_input.h"
#include "timing/calibration.h"
#include "timing/minimize.h"
#include "timing/predictor.h"
#include "timing/unseen.h"

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

TEST(Intervals, CountRepeatsOfAShapeOnce) {
  std::vector<double> predicted, residuals;
  for (int i = 0; i < 100; ++i) predicted.push_back(1e-5 + i / 5 * 1e-9), residuals.push_back(i / 5 * 0.01);
  const Intervals repeats = Intervals::from_residuals(predicted, residuals, 20);
  EXPECT_EQ(repeats.buckets().size(), 1u);
  EXPECT_EQ(Intervals::from_residuals(predicted, residuals).buckets().size(), 3u);
}

// Times of the formula; each shape deviates from it by `spread`, each repeat of a shape by 1 %.
std::vector<TimingRow> repeated_gemms(std::size_t shapes, std::size_t repeats, double spread,
                                      std::uint64_t seed) {
  const KernelForm& form = find_form("gemm");
  const Machine h200 = find_machine("h200");
  const std::vector<double> constants = starting_values(form.constants("bf16"));
  const Philox random(seed, 1);
  std::vector<TimingRow> rows;
  for (std::size_t r = 0; r < repeats; ++r)
    for (TimingRow row : random_gemms(shapes, seed)) {
      const std::size_t shape = row.line, repeat = 1000 * (r + 1) + shape;
      const double usual = 1.5e6 * fastest(*form.prepare(row, h200, {}), constants).seconds;
      row.us = usual * std::exp(spread * random.normal(shape) + 0.01 * random.normal(repeat));
      row.line = rows.size() + 2;
      rows.push_back(row);
    }
  return rows;
}

TEST(RowsByShape, AreInTheOrderOfTheTable) {
  std::vector<TimingRow> rows = random_gemms(4, 1);
  using Shapes = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(rows_by_shape(rows), (Shapes{{0}, {1}, {2}, {3}}));
  rows[3].sizes = rows[1].sizes;
  EXPECT_EQ(rows_by_shape(rows), (Shapes{{0}, {1, 3}, {2}}));
}

// A row whose twin was fitted is not unseen: its error would be that of repeating a measurement.
TEST(Calibration, AllRepeatsOfAShapeAreUnseen) {
  const KernelForm& form = find_form("gemm");
  const Machine h200 = find_machine("h200");
  const FormCalibration c = calibrate_device(form, repeated_gemms(40, 5, 0.15, 8), h200).calibration;
  EXPECT_EQ(c.rows, 200u);
  EXPECT_GT(c.errors.median, 5);
  const Predictor predictor(form, c, h200, &h200);
  std::vector<JudgedRow> judged;
  for (const TimingRow& row : repeated_gemms(300, 1, 0.15, 9)) {
    const PredictedTime t = predictor.predict(row);
    judged.push_back({row.us, t.us, t.low_us, t.high_us});
  }
  EXPECT_GE(judge(judged).coverage, 80) << "shapes that no fit saw";
}

TEST(Calibration, NamesTheShapesItWasFittedTo) {
  const Machine h200 = find_machine("h200");
  const std::vector<TimingRow> rows = repeated_gemms(20, 2, 0.1, 3);
  const Calibration made{.machine = h200,
                         .forms = {calibrate_device(find_form("gemm"), rows, h200).calibration}};
  const std::vector<std::uint32_t>& shapes = made.forms.front().fitted_shapes;
  EXPECT_EQ(shapes.size(), rows_by_shape(rows).size());
  for (const TimingRow& row : rows) EXPECT_TRUE(std::ranges::binary_search(shapes, shape_hash(row)));
  EXPECT_FALSE(std::ranges::binary_search(shapes, shape_hash({.sizes = {3, 5, 7}})));
  EXPECT_EQ(calibration_from_json(to_json(made), "x").forms.front().fitted_shapes, shapes);
}

TEST(Calibration, RejectsFewShapesHoweverOftenTheyRepeat) {
  const auto calibrate = [](std::size_t shapes, std::size_t repeats) {
    calibrate_device(find_form("gemm"), repeated_gemms(shapes, repeats, 0.1, 2), find_machine("h200"));
  };
  testing::expect_rejected([&] { calibrate(4, 10); },
                           {"40 rows with 4 different shapes cannot", "at least 10 different shapes"});
  testing::expect_rejected([&] { calibrate(9, 1); }, {"9 rows cannot calibrate gemm: it takes at least 10"});
}

TEST(Calibration, ErrorsOfMeasurementDoNotWidenIntervals) {
  const KernelForm& form = find_form("gemm");
  const Machine h200 = find_machine("h200");
  std::vector<TimingRow> rows = repeated_gemms(200, 1, 0.03, 4);
  const Calibrated clean = calibrate_device(form, rows, h200);
  for (std::size_t r = 0; r < rows.size(); r += 20) rows[r].us *= 50;
  const Calibrated dirty = calibrate_device(form, rows, h200);
  EXPECT_LT(dirty.calibration.errors.median_width, 3 * clean.calibration.errors.median_width);
  EXPECT_GT(dirty.calibration.errors.mean, clean.calibration.errors.mean) << "they stay in the errors";
  ASSERT_GE(dirty.outliers.size(), 10u);
  EXPECT_EQ(dirty.outliers.front().line, 2u);
}

TEST(UnseenPredictions, AreJudgedAsPredictorsMakeThem) {
  UnseenPredictions unseen;
  unseen.add(0.5, 1.1, 1);  // predicted, measured, floor
  unseen.add(2, 2, 1.8);
  EXPECT_EQ(unseen.predicted_s, (std::vector<double>{1, 2}));
  EXPECT_DOUBLE_EQ(unseen.residuals[0], std::log(1.1));
  const JudgedErrors errors = unseen.judge_with(Intervals::from_buckets({{0, 0.5, 1.2}}));
  EXPECT_EQ(errors.coverage, 100);
  EXPECT_NEAR(errors.mean, 50 * (1 - 1 / 1.1), 1e-9);
  EXPECT_NEAR(errors.median_width, 25, 1e-9) << "from 1 to 1.2 and from 1.8 to 2.4";
}

}  // namespace
}  // namespace headroom
