#include "timing/step_model.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"

namespace headroom {
namespace {

// Rows of a machine that obeys the formula, with some noise; each run has one step of each kind.
std::vector<StepRow> made_up_rows(double noise, int runs = 40) {
  const StepConstants product{0.8, 6, 6, 6, 0.7, 0.7, 2e-6}, plain{0.05, 4, 4, 4, 0.9, 0.9, 1e-6};
  std::vector<StepRow> rows;
  for (int run = 0; run < runs; ++run) {
    const Philox random(static_cast<std::uint64_t>(run), 5);
    const double m = std::exp(2 + 6 * random.uniform(0)), n = std::exp(2 + 6 * random.uniform(1)),
                 k = std::exp(2 + 6 * random.uniform(2));
    StepRow row{{.kind = "cpu.gemm linear",
                 .family = "cpu.gemm",
                 .flops = 2 * m * n * k,
                 .peak = 1e11,
                 .rate = 2e10,
                 .m = m,
                 .n = n,
                 .k = k},
                0,
                run};
    row.amounts.bytes = 4 * (m * k + k * n + m * n);
    row.seconds = parts_of(row.amounts, product).seconds() * std::exp(noise * random.normal(3));
    rows.push_back(row);
    StepRow relu{{.kind = "plain relu",
                  .family = "plain",
                  .flops = m * n,
                  .peak = 1e11,
                  .bytes = 8 * m * n,
                  .rate = 2e10},
                 0,
                 run};
    relu.seconds = parts_of(relu.amounts, plain).seconds() * std::exp(noise * random.normal(4));
    rows.push_back(relu);
  }
  return rows;
}
std::vector<RunRow> runs_of(const std::vector<StepRow>& rows, double share) {
  std::vector<RunRow> runs;
  for (const StepRow& row : rows) {
    if (static_cast<int>(runs.size()) <= row.run) runs.push_back({row.run, 0});
    runs.back().seconds += share * row.seconds;
  }
  return runs;
}

TEST(StepCalibration, FindsConstantsThatPredictRunsItDidNotSee) {
  const std::vector<StepRow> rows = made_up_rows(0.03);
  const StepCalibration c = fit_steps(rows, runs_of(rows, 1.1));
  EXPECT_LT(c.step_errors.median, 5);
  EXPECT_LT(c.run_errors.median, 5);
  EXPECT_NEAR(c.run.whole, 1.1, 0.001) << "what a run takes beside its steps";
  EXPECT_GT(c.step_errors.coverage, 84);
  EXPECT_GT(c.run_errors.coverage, 80);
  EXPECT_LT(c.run_intervals.at(1e-3).low, 1);
  EXPECT_GT(c.run_intervals.at(1e-3).high, 1);
  EXPECT_EQ(c.kinds.at("cpu.gemm linear").rows, 40u);
  EXPECT_NEAR(c.kinds.at("cpu.gemm linear").constants.efficiency, 0.8, 0.15);
}

// Half of the steps run beside the others, each launch is followed by a gap, and the run has a start.
TEST(StepCalibration, RunsFollowTheirSchedule) {
  std::vector<StepRow> rows = made_up_rows(0);
  const RunConstants truth{.whole = 1.05, .gap_s = 2e-6, .start_s = 9e-6};
  std::vector<RunRow> runs;
  for (std::size_t r = 0; r < rows.size(); r += 2) {
    rows[r + 1].stream = 1;
    const double seconds[] = {rows[r].seconds, rows[r + 1].seconds}, busy[] = {0.1, 0.1};
    runs.push_back({rows[r].run, run_seconds(std::span(rows).subspan(r, 2), seconds, busy, truth)});
  }
  const StepCalibration c = fit_steps(rows, runs);
  EXPECT_LT(c.run_errors.median, 3);
  EXPECT_NEAR(c.run.whole, 1.05, 0.05);
  EXPECT_GT(c.run.gap_s + c.run.start_s, 5e-6);
}

// A kind that no probe had is known by its family, and another family by all steps.
TEST(StepCalibration, UnknownKindsFallBack) {
  const StepCalibration c = fit_steps(made_up_rows(0), {});
  EXPECT_EQ(&c.kind_of({.kind = "cpu.gemm matmul", .family = "cpu.gemm"}), &c.kinds.at("cpu.gemm"));
  EXPECT_EQ(&c.kind_of({.kind = "new op", .family = "new"}), &c.kinds.at(""));
}

// Six steps of some microseconds say what a start costs in that precision, and nothing of the rate of a step
// ten thousand times as long: that is taken from the same kernel in another precision.
TEST(StepCalibration, FewShortStepsDoNotSetTheTimeOfALongOne) {
  std::vector<StepRow> rows = made_up_rows(0.03);
  const StepConstants truth{0.8, 6, 6, 6, 0.7, 0.7, 2e-6};
  const auto step = [](double side) {
    return StepAmounts{.kind = "cpu.gemm linear 16bit",
                       .family = "cpu.gemm.16bit",
                       .flops = 2 * side * side * side,
                       .peak = 4e11,
                       .bytes = 6 * side * side,
                       .rate = 2e10,
                       .m = side,
                       .n = side,
                       .k = side};
  };
  // Latencies grow with the size, which looks like a rate far too low.
  for (int i = 0; i < 6; ++i) rows.push_back({step(8 + 2 * i), 2e-6 * (1 + i), 40 + i});
  const StepCalibration c = fit_steps(rows, {});
  EXPECT_NEAR(std::log(c.seconds_of(step(2000)) / parts_of(step(2000), truth).seconds()), 0, 0.5);
  EXPECT_TRUE(c.kinds.contains("cpu.gemm linear *"));
  EXPECT_EQ(&c.kind_of({.kind = "cpu.gemm linear tf32"}), &c.kinds.at("cpu.gemm linear *"));
}

// Products of a few blocks wait for one term after another, which no share of a peak says.
TEST(StepCalibration, LearnsWhatChainsCost) {
  std::vector<StepRow> rows = made_up_rows(0.01, 60);
  const StepConstants truth{0.8, 6, 6, 6, 0.7, 0.7, 2e-6, 1e-7, 1e-10};
  for (StepRow& row : rows) {
    if (row.amounts.m == 0) continue;
    row.amounts.chain = row.amounts.k * (1 + row.run % 7), row.amounts.staged = 64 * row.amounts.chain;
    row.seconds = parts_of(row.amounts, truth).seconds();
  }
  const StepCalibration c = fit_steps(rows, {});
  StepAmounts a = rows[0].amounts;
  a.chain = 4000, a.staged = 64 * a.chain;
  EXPECT_NEAR(std::log(c.seconds_of(a) / parts_of(a, truth).seconds()), 0, 0.2);
}

// Sizes that vectors do not divide take twice as long: new ones of both sorts are told apart.
TEST(StepCalibration, AlignedSizesAreOnTheirOwn) {
  std::vector<StepRow> rows = made_up_rows(0, 80);
  const auto with_columns = [](StepRow row, bool aligned) {
    StepAmounts& a = row.amounts;
    a.n = aligned ? 64 * std::ceil(a.n / 64) : 2 * std::ceil(a.n / 2) + 1;
    row.seconds = parts_of(a, {0.8, 6, 6, 6, 0.7, 0.7, 2e-6}).seconds() * (aligned ? 1 : 2);
    return row;
  };
  std::vector<StepRow> unseen;
  for (StepRow& row : rows) {
    if (row.amounts.m == 0) continue;
    if (row.run >= 70) unseen.push_back(row);
    row = with_columns(row, row.run % 2 == 0);
  }
  std::erase_if(rows, [](const StepRow& row) { return row.run >= 70; });
  const StepCalibration c = fit_steps(rows, {});
  double error = 0;
  for (const StepRow& row : unseen)
    for (const bool aligned : {false, true}) {
      const StepRow sized = with_columns(row, aligned);
      error += std::abs(std::log(c.seconds_of(sized.amounts) / sized.seconds)) / (2 * double(unseen.size()));
    }
  EXPECT_LT(error, 0.2) << "one time for both would be off by 0.35";
}

// A kernel that is slow in one place is slow there in the other precision, too.
TEST(StepCalibration, PrecisionsLearnFromEachOther) {
  std::vector<StepRow> rows = made_up_rows(0, 60);
  const auto slow_at = [](const StepAmounts& a) { return a.k > 400 ? 2.0 : 1.0; };
  std::vector<StepRow> narrow;
  for (StepRow& row : rows) {
    if (row.amounts.m == 0) continue;
    row.seconds *= slow_at(row.amounts);
    StepRow other = row;
    other.amounts.kind += k16bitKind, other.seconds *= 0.7, other.run += 60;
    if (slow_at(row.amounts) == 1) narrow.push_back(other);
  }
  rows.insert(rows.end(), narrow.begin(), narrow.end());
  const StepCalibration c = fit_steps(rows, {});
  double left = 0, count = 0;
  for (const StepRow& row : rows) {
    if (row.run >= 60 || slow_at(row.amounts) == 1) continue;
    StepAmounts a = row.amounts;
    a.kind += k16bitKind;
    left += std::log(c.seconds_of(a) / (0.7 * row.seconds)), count += 1;
  }
  EXPECT_GT(left / count, -0.57) << "as if none were slow: -0.69";
}

// What lies far from all that was timed has a wider interval, and as wide as the long runs need that a fit
// to the short ones was judged by.
TEST(StepCalibration, IntervalsGrowWithTheDistanceFromWhatWasTimed) {
  std::vector<StepRow> rows = made_up_rows(0.02, 60);
  for (StepRow& row : rows) row.seconds *= std::pow(1 + row.amounts.flops / 1e8, 0.3);  // no formula has it
  const StepCalibration c = fit_steps(rows, runs_of(rows, 1));
  EXPECT_GT(c.growth, 0.05);
  StepAmounts a = rows[0].amounts;
  EXPECT_EQ(c.novelty_of(a), 0);
  a.flops *= 64, a.m *= 64;
  EXPECT_GT(c.novelty_of(a), 1);
  EXPECT_GT(c.novelty_of({.kind = "new op", .family = "new"}), c.novelty_of(a));
  EXPECT_EQ(fit_steps(made_up_rows(0), {}).growth, 0) << "without runs there is no long one";
}

TEST(StepCalibration, AWaitIsWhatARunAloneTakesMore) {
  const std::vector<StepRow> rows = made_up_rows(0.03);
  std::vector<RunRow> runs = runs_of(rows, 1);
  EXPECT_EQ(fit_steps(rows, runs).run.wait_s, 0) << "not timed";
  for (RunRow& run : runs) run.alone = run.seconds + 7e-6;
  EXPECT_NEAR(fit_steps(rows, runs).run.wait_s, 7e-6, 1e-9);
}

TEST(StepCalibration, FewRowsAreRefused) {
  std::vector<StepRow> rows = made_up_rows(0, 5);
  EXPECT_THROW(fit_steps(rows, {}), Error);
  rows = made_up_rows(0.1, 20);
  for (StepRow& row : rows) row.run %= 2;
  EXPECT_GT(fit_steps(rows, {}).step_errors.rows, 0u) << "two runs judge each other";
  for (StepRow& row : rows) row.run = 0;
  EXPECT_THROW(fit_steps(rows, {}), Error);
}

TEST(StepCalibration, FileHoldsWhatWasFitted) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("headroom_steps_{}", ::getpid());
  ::setenv("HEADROOM_CACHE", folder.c_str(), 1);
  const std::vector<StepRow> rows = made_up_rows(0.1);
  std::vector<RunRow> timed_runs = runs_of(rows, 1);
  for (RunRow& run : timed_runs) run.alone = run.seconds + 5e-6;
  StepCalibration c = fit_steps(rows, timed_runs);
  c.machine = "here", c.title = "a machine", c.cores = 2;
  save_calibration(c);
  Machine machine;
  machine.name = "here", machine.title = "a machine", machine.cores = 2, machine.measured = true;
  std::string why;
  const auto read = find_calibration(machine, why);
  ASSERT_TRUE(read) << why;
  for (const StepRow& row : rows)
    EXPECT_NEAR(read->seconds_of(row.amounts) / c.seconds_of(row.amounts), 1, 1e-3);
  EXPECT_EQ(read->rows.size(), rows.size());
  EXPECT_NEAR(read->growth, c.growth, 1e-5);
  EXPECT_NEAR(read->doubt_of(rows[0].amounts) / c.doubt_of(rows[0].amounts), 1, 1e-4);
  EXPECT_NEAR(read->run.wait_s, 5e-6, 1e-9);
  EXPECT_NEAR(read->runs[0].alone / timed_runs[0].alone, 1, 1e-5);
  EXPECT_EQ(read->novelty_of(rows[0].amounts), 0);
  EXPECT_EQ(read->step_errors.median, to_json(c.step_errors).at("median_percent").get<double>());

  machine.cores = 3;
  EXPECT_FALSE(find_calibration(machine, why));
  EXPECT_NE(why.find("another machine"), std::string::npos);
  machine.cores = 2;
  std::ofstream(calibration_file("here")) << "{";
  EXPECT_FALSE(find_calibration(machine, why)) << "a damaged file is as good as none";
  EXPECT_NE(why.find("`headroom calibrate` makes a new one"), std::string::npos) << why;
  ::unsetenv("HEADROOM_CACHE");
  std::filesystem::remove_all(folder);
}

// More of one resource and no less of any other is never slower; all rates doubled and all starts halved is
// half the time.
TEST(StepCalibration, FollowsPhysics) {
  const StepAmounts a{.flops = 1e9,
                      .peak = 1e12,
                      .bytes = 1e7,
                      .rate = 1e11,
                      .m = 64,
                      .n = 64,
                      .k = 64,
                      .chain = 64,
                      .staged = 4096};
  const StepConstants c{0.7, 8, 8, 8, 0.8, 0.8, 3e-6, 1e-7, 1e-10};
  const double seconds = parts_of(a, c).seconds();
  StepAmounts b = a;
  b.peak *= 1.5;
  EXPECT_LE(parts_of(b, c).seconds(), seconds);
  b = a, b.rate *= 1.5;
  EXPECT_LE(parts_of(b, c).seconds(), seconds);
  b = a, b.peak *= 2, b.rate *= 2;
  StepConstants half = c;
  half.start_s /= 2, half.chain_s /= 2, half.stage_s /= 2;
  EXPECT_NEAR(parts_of(b, half).seconds(), seconds / 2, 1e-9 * seconds);
}

}  // namespace
}  // namespace headroom
