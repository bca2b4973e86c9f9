#include "report/counter_sheets.h"

#include <gtest/gtest.h>

#include "profile/counter_recorder.h"

namespace headroom {
namespace {

// Two steps: one of a layer, one of two layers.
RunRecord counted_record() {
  RunRecord r;
  r.plan = RecordedPlan{};
  r.plan->steps = {{.layer = "a",
                    .op = "linear",
                    .kernel = "cpu:x",
                    .bytes = 1e6,
                    .charges = {{"a", Phase::forward, 1.0}}},
                   {.layer = "a",
                    .op = "relu",
                    .kernel = "cpu:y",
                    .bytes = 4e6,
                    .charges = {{"a", Phase::forward, 0.25}, {"b", Phase::forward, 0.75}}}};
  r.measurement = Measurement{};
  r.measurement->steps.resize(2);
  const char* time = CounterRecorder::kTime;
  r.measurement->steps[0].counters = {
      {"task-clock", 4e6}, {time, 0.002}, {"instructions", 6e6}, {"cycles", 2e6}, {"cache-misses", 1e5}};
  r.measurement->steps[1].counters = {
      {"task-clock", 4e6}, {time, 0.004}, {"instructions", 2e6}, {"cycles", 2e6}, {"cache-misses", 0}};
  return r;
}

double number(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<double>(sheet.at(row, key));
}

TEST(CounterSheets, LayersGetTheirShareOfAStep) {
  const Sheet sheet = layer_counters_sheet(counted_record());
  ASSERT_EQ(sheet.rows(), 3u) << "two layers and their sum";
  EXPECT_DOUBLE_EQ(number(sheet, 0, "core_ms"), 5);
  EXPECT_DOUBLE_EQ(number(sheet, 1, "core_ms"), 3);
  EXPECT_DOUBLE_EQ(number(sheet, 2, "core_ms"), 8);
  EXPECT_DOUBLE_EQ(number(sheet, 1, "instructions"), 1.5e6);
  EXPECT_DOUBLE_EQ(number(sheet, 0, "memory_mb"), 6.4);
  EXPECT_DOUBLE_EQ(number(sheet, 0, "least_mb"), 2);
}

// Sums are divided, not averaged: a short step weighs little.
TEST(CounterSheets, RatiosAreOfSums) {
  const Sheet sheet = kernel_counters_sheet(counted_record());
  EXPECT_DOUBLE_EQ(number(sheet, 0, "instructions_per_cycle"), 3);
  EXPECT_DOUBLE_EQ(number(sheet, 1, "instructions_per_cycle"), 1);
  EXPECT_DOUBLE_EQ(number(sheet, 2, "instructions_per_cycle"), 2);
  EXPECT_DOUBLE_EQ(number(sheet, 0, "cores_busy"), 2);
  EXPECT_DOUBLE_EQ(number(sheet, 2, "cores_busy"), 8e-3 / 6e-3);
}

TEST(CounterSheets, WhatWasNotCountedHasNoColumn) {
  RunRecord r = counted_record();
  for (Measurement::Step& step : r.measurement->steps) step.counters.erase("cycles");
  const Sheet sheet = layer_counters_sheet(r);
  EXPECT_TRUE(sheet.has_column("instructions"));
  EXPECT_FALSE(sheet.has_column("instructions_per_cycle"));
  for (Measurement::Step& step : r.measurement->steps) step.counters.clear();
  EXPECT_EQ(layer_counters_sheet(r).rows(), 0u);
}

}  // namespace
}  // namespace headroom
