#include "report/gpu_sample_sheets.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace headroom {
namespace {

SampledStep made_up_step() {
  SampledStep step{.interval_ns = 20'000, .samples = 900, .runs = 100, .run_s = 1e-3};
  step.layers = {{"conv", {0.06, 0.03, {80, 0, 30, 60, 2e12}}}, {"between kernels", {0.04, 0, {}}}};
  step.all = {0.1, 0, {48, 0, 18, 36, 1.2e12}};
  step.points = {{0, 0.5e-3, {80, 1, 30, 60, 2e12}}, {0.5e-3, 1e-3, {16, 2, 6, 12, 4e11}}};
  return step;
}

double real_cell(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<double>(sheet.at(row, key));
}

TEST(GpuSampleSheets, LayersShowTheTimeOfOneRun) {
  const Sheet sheet = sampled_layers_sheet(made_up_step());
  ASSERT_EQ(sheet.rows(), 3u);
  EXPECT_NEAR(real_cell(sheet, 0, "ms"), 0.6, 1e-12);
  EXPECT_EQ(real_cell(sheet, 0, "sm_percent"), 80);
  EXPECT_EQ(real_cell(sheet, 0, "dram_gbytes_per_s"), 2000);
  EXPECT_EQ(real_cell(sheet, 0, "alone_percent"), 50);
  EXPECT_EQ(sheet.at(1, "alone_percent"), Cell());
  EXPECT_TRUE(sheet.is_total(2));
  EXPECT_NEAR(real_cell(sheet, 2, "ms"), 1, 1e-12);
}

TEST(GpuSampleSheets, TheChartIsMadeOfTheTable) {
  const Sheet sheet = sampled_step_sheet(made_up_step());
  const LineChart chart = sampled_step_chart(Sheet::from_json(sheet.to_json(), "here"));
  ASSERT_EQ(chart.series.size(), 4u);
  ASSERT_EQ(chart.series[0].points.size(), 2u);
  EXPECT_EQ(chart.series[0].points[1].x, 0.5);
  EXPECT_EQ(chart.series[1].points[1].y, 2);
  EXPECT_EQ(chart.series[3].points[0].y, 60);
  EXPECT_NE(svg(chart).find("multiprocessors"), std::string::npos);
}

TEST(GpuSampleSheets, ThePlanStandsBesideNvml) {
  RunRecord record;
  record.plan.emplace();
  record.plan->steps.emplace_back().launches = {{.unit = "bf16", .flops = 4e11, .bytes = 1e9},
                                                {.unit = "unknown", .flops = 1e15, .bytes = 1e9}};
  record.machine.emplace();
  record.machine->peak_flops = {{"bf16", 1e15}};
  record.machine->levels = {{.name = "memory", .bytes_per_s = 4e12}};
  const Sheet sheet = gpu_use_sheet({.seconds = 1, .sm = 93.0, .dram = 55.0}, 1e-3, record);
  EXPECT_EQ(real_cell(sheet, 0, "nvml_percent"), 93);
  EXPECT_EQ(sheet.at(2, "nvml_percent"), Cell()) << "not told";
  EXPECT_NEAR(real_cell(sheet, 3, "plan_percent"), 40, 1e-9);
  EXPECT_NEAR(real_cell(sheet, 4, "plan_percent"), 50, 1e-9);
  EXPECT_EQ(real_cell(sheet, 4, "nvml_percent"), 55);
  EXPECT_EQ(gpu_use_sheet({}, 0, record).at(4, "plan_percent"), Cell()) << "the time is unknown";
}

TEST(GpuSampleSheets, TablesAreFoundByName) {
  RunRecord record;
  EXPECT_EQ(find_table(record, kSampledLayers), nullptr);
  record.tables = {sampled_step_sheet(made_up_step()), sampled_layers_sheet(made_up_step())};
  EXPECT_EQ(find_table(record, kSampledLayers)->name(), kSampledLayers);
}

}  // namespace
}  // namespace headroom
