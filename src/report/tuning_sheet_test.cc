#include "report/tuning_sheet.h"

#include <gtest/gtest.h>

#include "report/counter_sheets.h"
#include "report/ratio_diff.h"
#include "report/testing/gpu_counted.h"

namespace headroom {
namespace {

using testing::gpu_counted_record;

double value_in(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<double>(sheet.at(row, key));
}
std::string word_in(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<std::string>(sheet.at(row, key));
}

TEST(GpuCounterSheets, RatiosAreOfEachKernelsOwnSums) {
  const Sheet sheet = kernel_counters_sheet(gpu_counted_record());
  ASSERT_EQ(sheet.rows(), 3u) << "two kernels and their sum";
  EXPECT_EQ(word_in(sheet, 0, "kernel"), "linear cuda:tiles");
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "launches"), 2);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "instructions"), 12e8);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "instructions_per_cycle"), 3);
  EXPECT_DOUBLE_EQ(value_in(sheet, 1, "instructions_per_cycle"), 0.5);
  EXPECT_DOUBLE_EQ(value_in(sheet, 2, "instructions_per_cycle"), 13.0 / 6);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "warps_per_instruction"), 3.2e9 / 6.2e8);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "instructions_per_access"), 6.2e8 / 3.41e7);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "warps_per_access"), 3.2e9 / 3.41e7);
  EXPECT_DOUBLE_EQ(value_in(sheet, 1, "loads_per_instruction"), 0.3);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "stores_per_instruction"), 0.005);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "occupancy_percent"), 25);
  EXPECT_DOUBLE_EQ(value_in(sheet, 1, "occupancy_percent"), 75);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "lanes_percent"), 100);
  EXPECT_DOUBLE_EQ(value_in(sheet, 1, "lanes_percent"), 25);
  EXPECT_DOUBLE_EQ(value_in(sheet, 1, "divergent_percent"), 50);
}

TEST(GpuCounterSheets, MeasuredAmountsStandBesideThoseOfThePlan) {
  const Sheet sheet = kernel_counters_sheet(gpu_counted_record());
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "dram_mb"), 220);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "plan_mb"), 200);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "dram_gb_s"), 110);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "fp32_gflop"), 128);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "plan_gflop"), 128);
  const Sheet layers = layer_counters_sheet(gpu_counted_record());
  EXPECT_DOUBLE_EQ(value_in(layers, 0, "instructions"), 7.5e8) << "and a quarter of the fused step";
  EXPECT_DOUBLE_EQ(value_in(layers, 1, "instructions"), 5.5e8);
}

// Kernels that a step launches one after the other are counted together.
TEST(GpuCounterSheets, LaunchesHaveTheNamesOfTheDevice) {
  RunRecord r = gpu_counted_record();
  EXPECT_EQ(launch_counters_sheet(r).rows(), 0u) << "no kernel trace, no names";
  r.measurement->steps[0].launches = r.measurement->steps[1].launches = {{.name = "tiles_kernel"}};
  r.measurement->steps[2].launches = {{.name = "count_rows"}, {.name = "count_rows"}, {.name = "copy_rows"}};
  const Sheet sheet = launch_counters_sheet(r);
  ASSERT_EQ(sheet.rows(), 3u);
  EXPECT_EQ(word_in(sheet, 0, "kernel"), "tiles_kernel");
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "instructions"), 12e8);
  EXPECT_EQ(word_in(sheet, 1, "kernel"), "count_rows + copy_rows");
}

// A denominator of another step would be of other launches.
TEST(GpuCounterSheets, RatiosNeverMixPasses) {
  RunRecord r = gpu_counted_record();
  for (Measurement::Step& step : r.measurement->steps) {
    step.counters["2:cycles"] = step.counters.at("1:cycles");
    step.counters.erase("1:cycles");
  }
  const Sheet sheet = kernel_counters_sheet(r);
  EXPECT_TRUE(sheet.has_column("instructions"));
  EXPECT_TRUE(sheet.has_column("cycles"));
  EXPECT_FALSE(sheet.has_column("instructions_per_cycle"));
}

TEST(GpuCounterSheets, WithoutCountersThePlansFiguresStay) {
  RunRecord r = gpu_counted_record();
  for (Measurement::Step& step : r.measurement->steps)
    std::erase_if(step.counters, [](const auto& c) { return !c.first.starts_with("0:"); });
  const Sheet sheet = kernel_counters_sheet(r);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "plan_mb"), 200);
  EXPECT_FALSE(sheet.has_column("instructions"));
  EXPECT_EQ(tuning_sheet(r).rows(), 0u);
}

TEST(GpuCounterSheets, AMetricOfCuptiHasAColumnOfItsName) {
  RunRecord r = gpu_counted_record();
  r.measurement->steps[2].counters["4:lts__t_sectors.sum"] = 7;
  const Sheet sheet = kernel_counters_sheet(r);
  EXPECT_DOUBLE_EQ(value_in(sheet, 1, "lts__t_sectors.sum"), 7);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(sheet.at(0, "lts__t_sectors.sum")));
}

TEST(TuningSheet, KernelsStandByWhatAFixReturns) {
  const Sheet sheet = tuning_sheet(gpu_counted_record());
  ASSERT_EQ(sheet.rows(), 2u);
  EXPECT_EQ(word_in(sheet, 0, "kernel"), "gather cuda:rows");
  EXPECT_NEAR(value_in(sheet, 0, "return_ms"), 1.0, 1e-12);
  EXPECT_NEAR(value_in(sheet, 1, "return_ms"), 0.2, 1e-12);
  EXPECT_NEAR(value_in(sheet, 0, "warp_score"), 1.5 * 9.6e9 / 1.1e8, 1e-9);
  EXPECT_NEAR(value_in(sheet, 0, "access_score"), 1.5 * 3.61e7 / 1.1e8, 1e-12);
  EXPECT_EQ(std::get<std::int64_t>(sheet.at(0, "warp_place")), 1);
  EXPECT_EQ(std::get<std::int64_t>(sheet.at(1, "access_place")), 2);
}

// The first sign in the list is told; without it the next.
TEST(TuningSheet, ReasonsComeFromTheCounters) {
  RunRecord r = gpu_counted_record();
  auto& gather = r.measurement->steps[2].counters;
  const auto reason = [&] { return word_in(tuning_sheet(r), 0, "reason"); };
  EXPECT_EQ(reason(), "25 % of the lanes work: branches part the warps, or blocks are small");
  gather["2:lane-instructions"] = 32e8;
  EXPECT_EQ(reason(), "it moves 4.0 times the bytes of the plan");
  gather["0:bytes"] = 200e6;
  EXPECT_EQ(reason(), "a global access every 3.0 instructions: keep more in registers");
  gather["1:global-loads"] = 1e6;
  EXPECT_EQ(reason(), "warps wait: 87 warp cycles for an instruction, 0.50 instructions per cycle");
  gather["1:warp-cycles"] = 1e9;
  EXPECT_EQ(reason(), "few warps: 8 % of the room for them is used");
  gather["1:warp-cycles"] = 9.6e9, gather["1:instructions"] = 4e8;
  EXPECT_EQ(reason(), "the counters do not show why");
  r.prediction->steps[2].floor_s = 1.49e-3;
  EXPECT_EQ(word_in(tuning_sheet(r), 1, "reason"), "near its floor");
}

TEST(RatioDiff, RunsStandSideBySide) {
  RunRecord slower = gpu_counted_record();
  for (Measurement::Step& step : slower.measurement->steps) step.counters["1:cycles"] *= 2;
  slower.plan->steps[2].kernel = "cuda:other";
  const std::vector<RecordedRun> runs = {{"x", gpu_counted_record()}, {"y", slower}, {"none", RunRecord{}}};
  const Sheet sheet = ratios_sheet(runs);
  EXPECT_EQ(word_in(sheet, 0, "ratio"), "per cycle");
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "x"), 3);
  EXPECT_DOUBLE_EQ(value_in(sheet, 0, "y"), 1.5);
  EXPECT_EQ(word_in(sheet, 1, "kernel"), "gather cuda:rows");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(sheet.at(1, "y"))) << "the kernel is another there";
  const std::vector<RatioChart> charts = ratio_charts(runs);
  ASSERT_FALSE(charts.empty());
  EXPECT_EQ(charts[0].name, "instructions_per_cycle");
  EXPECT_EQ(charts[0].chart.series.size(), 3u);
  EXPECT_NE(svg(charts[0].chart).find("gather cuda:other"), std::string::npos);
  EXPECT_EQ(ratios_sheet({{"none", RunRecord{}}}).rows(), 0u);
}

}  // namespace
}  // namespace headroom
