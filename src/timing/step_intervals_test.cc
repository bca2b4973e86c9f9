// Intervals of steps and runs, on runs that no fit saw.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "predict/predict.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

constexpr int kFittedRuns = 120, kNewRuns = 200;

// Runs of two steps: one whose time follows the formula closely, and one that is off by half of it.
std::vector<StepRow> sure_and_unsure_rows(int first_run, int runs) {
  const StepConstants truth{0.05, 4, 4, 4, 0.9, 0.9, 1e-6};
  std::vector<StepRow> rows;
  for (int run = first_run; run < first_run + runs; ++run) {
    const Philox random(static_cast<std::uint64_t>(run), 17);
    for (const bool sure : {true, false}) {
      const double values = std::exp(8 + 8 * random.uniform(sure));
      StepRow row{{.kind = sure ? "plain relu" : "other sort",
                   .family = sure ? "plain" : "other",
                   .flops = values,
                   .peak = 1e11,
                   .bytes = 8 * values,
                   .rate = 2e10},
                  0,
                  run};
      row.seconds =
          parts_of(row.amounts, truth).seconds() * std::exp((sure ? 0.03 : 0.4) * random.normal(2 + sure));
      rows.push_back(row);
    }
  }
  return rows;
}
std::vector<RunRow> whole_runs(const std::vector<StepRow>& rows) {
  std::vector<RunRow> runs;
  for (std::size_t r = 0; r + 1 < rows.size(); r += 2)
    runs.push_back({rows[r].run, rows[r].seconds + rows[r + 1].seconds});
  return runs;
}

// How many of the measurements are inside, and how wide it is, of the prediction.
struct Held {
  double inside = 0, width = 0, count = 0;
  void add(double measured, double predicted, const Intervals& intervals, double doubt) {
    const Intervals::Bucket& bucket = intervals.at(predicted);
    const double low = std::pow(bucket.low, doubt), high = std::pow(bucket.high, doubt);
    const double ratio = measured / predicted;
    inside += low <= ratio && ratio <= high, width += high - low, count += 1;
  }
};

struct FittedSteps {
  std::vector<StepRow> seen = sure_and_unsure_rows(0, kFittedRuns),
                       unseen = sure_and_unsure_rows(kFittedRuns, kNewRuns);
  StepCalibration calibration = fit_steps(seen, whole_runs(seen));
};
const FittedSteps& fitted_steps() {
  static const FittedSteps fitted;
  return fitted;
}

TEST(StepIntervals, HoldForEachKindOnNewRuns) {
  const StepCalibration& c = fitted_steps().calibration;
  Held sure, unsure;
  for (const StepRow& row : fitted_steps().unseen)
    (row.amounts.family == "plain" ? sure : unsure)
        .add(row.seconds, c.seconds_of(row.amounts), c.intervals, c.doubt_of(row.amounts));
  EXPECT_GT(unsure.width, 5 * sure.width) << "one width for all steps says little about either";
  EXPECT_NEAR(sure.inside / sure.count, 0.9, 0.08);
  EXPECT_NEAR(unsure.inside / unsure.count, 0.9, 0.08);
}

TEST(StepIntervals, HoldForRunsAndAreNarrowWhereTheSureStepIsLong) {
  const StepCalibration& c = fitted_steps().calibration;
  Held sure, unsure;
  for (std::size_t r = 0; r + 1 < fitted_steps().unseen.size(); r += 2) {
    const std::span rows(fitted_steps().unseen.data() + r, 2);
    const double seconds[] = {c.seconds_of(rows[0].amounts), c.seconds_of(rows[1].amounts)};
    const double doubts[] = {c.doubt_of(rows[0].amounts), c.doubt_of(rows[1].amounts)}, busy[] = {1, 1};
    (seconds[0] > 4 * seconds[1] ? sure : unsure)
        .add(rows[0].seconds + rows[1].seconds, run_seconds(rows, seconds, busy, c.run), c.run_intervals,
             doubt_of_run(seconds, doubts));
  }
  EXPECT_NEAR((sure.inside + unsure.inside) / (sure.count + unsure.count), 0.9, 0.08);
  EXPECT_LT(sure.width / sure.count, 0.5 * unsure.width / unsure.count);
}

// Errors of many steps even out; what all of them share does not.
TEST(StepIntervals, TheDoubtOfARunFallsWithTheNumberOfItsSteps) {
  const std::vector<double> one = {1}, many(64, 1), doubt(64, 0.2);
  EXPECT_NEAR(doubt_of_run(one, std::span(doubt).first(1)), 0.2, 1e-12);
  EXPECT_LT(doubt_of_run(many, doubt), 0.15);
  EXPECT_GT(doubt_of_run(many, doubt), 0.09);
  EXPECT_EQ(doubt_of_run({}, {}), 0);
}

// What no timing knows is in more doubt than what one knows, and what is new more than what was timed.
TEST(StepIntervals, UnknownAndNewStepsAreInDoubt) {
  const StepCalibration& c = fitted_steps().calibration;
  StepAmounts known = fitted_steps().seen[0].amounts, unknown = known;
  unknown.kind = "plain new";
  EXPECT_GT(c.doubt_of(unknown), 1.9 * c.doubt_of(known));
}

}  // namespace
}  // namespace headroom
