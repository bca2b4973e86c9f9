#include "report/profile_flat.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using testing::add_span, testing::add_window;

// main of rank 0: train 100 us with two batches of 40 and 30 us; the first has a step of 25 us.
// loader: load 60 us, which calls itself for 20 of them. main of rank 1: train 50 us.
Trace flat_trace() {
  Trace trace{.lanes = {{"main"}, {"loader 1"}, {"stream 7", true}, {"main", false, 1}}};
  add_span(trace, 0, "train", 0, 100'000);
  add_span(trace, 0, "batch", 10'000, 50'000, 1);
  add_span(trace, 0, "step", 20'000, 45'000, 2);
  add_span(trace, 0, "batch", 60'000, 90'000, 1);
  add_span(trace, 1, "load", 0, 60'000);
  add_span(trace, 1, "load", 20'000, 40'000, 1);
  add_span(trace, 3, "train", 0, 50'000);
  return trace;
}

struct Expected {
  const char *thread, *name;
  double percent, exclusive_ms, inclusive_ms;
  std::int64_t calls, subroutines;
  double per_call_us;
};

void expect_row(const Sheet& sheet, std::size_t row, const Expected& e) {
  const auto value = [&](const char* key) { return std::get<double>(sheet.at(row, key)); };
  EXPECT_TRUE(e.thread == nullptr || sheet.at(row, "thread") == Cell(e.thread)) << row;
  EXPECT_EQ(sheet.at(row, "name"), Cell(e.name)) << row;
  EXPECT_DOUBLE_EQ(value("time_percent"), e.percent) << row;
  EXPECT_DOUBLE_EQ(value("exclusive_ms"), e.exclusive_ms) << row;
  EXPECT_DOUBLE_EQ(value("inclusive_ms"), e.inclusive_ms) << row;
  EXPECT_EQ(sheet.at(row, "calls"), Cell(e.calls)) << row;
  EXPECT_EQ(sheet.at(row, "subroutines"), Cell(e.subroutines)) << row;
  EXPECT_DOUBLE_EQ(value("per_call_us"), e.per_call_us) << row;
}

TEST(ProfileFlat, EveryCellIsTheOneCountedByHand) {
  const Sheet sheet = flat_sheet(flat_trace());
  ASSERT_EQ(sheet.rows(), 5u);
  expect_row(sheet, 0, {"main", "train", 100, 0.030, 0.100, 1, 2, 100});
  expect_row(sheet, 1, {"main", "batch", 70, 0.045, 0.070, 2, 1, 35});
  expect_row(sheet, 2, {"main", "step", 25, 0.025, 0.025, 1, 0, 25});
  expect_row(sheet, 3, {"loader 1", "load", 100, 0.060, 0.060, 2, 1, 30});
  expect_row(sheet, 4, {"main", "train", 100, 0.050, 0.050, 1, 0, 50});
  EXPECT_EQ(sheet.at(4, "rank"), Cell(std::int64_t{1}));
}

TEST(ProfileFlat, SumsOverThreadsAndRanks) {
  const Sheet sheet = flat_sum_sheet(flat_trace());
  ASSERT_EQ(sheet.rows(), 4u);
  expect_row(sheet, 0, {nullptr, "train", 100 * 150.0 / 210, 0.080, 0.150, 2, 2, 75});
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(0, "mean_inclusive_ms")), 0.050);
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(0, "mean_exclusive_ms")), 0.080 / 3);
  expect_row(sheet, 1, {nullptr, "batch", 100 * 70.0 / 210, 0.045, 0.070, 2, 1, 35});
  expect_row(sheet, 2, {nullptr, "load", 100 * 60.0 / 210, 0.060, 0.060, 2, 1, 30});
  expect_row(sheet, 3, {nullptr, "step", 100 * 25.0 / 210, 0.025, 0.025, 1, 0, 25});
}

TEST(ProfileFlat, RecursionThroughAnotherNameCountsOnce) {
  Trace trace{.lanes = {{"main"}}};
  add_span(trace, 0, "a", 0, 1000);
  add_span(trace, 0, "b", 100, 900, 1);
  add_span(trace, 0, "a", 200, 800, 2);
  const Sheet sheet = flat_sheet(trace);
  expect_row(sheet, 0, {"main", "a", 100, 0.0008, 0.001, 2, 1, 0.5});
  expect_row(sheet, 1, {"main", "b", 80, 0.0002, 0.0008, 1, 1, 0.8});
}

TEST(ProfileFlat, CountsTheWindowsOrTheWholeRun) {
  Trace trace = flat_trace();
  add_window(trace, 0, 30'000, 70'000);
  const Sheet sheet = flat_sheet(trace);
  ASSERT_EQ(sheet.rows(), 4u) << "rank 1 has no window";
  expect_row(sheet, 0, {"main", "train", 100, 0.010, 0.040, 1, 2, 40});
  expect_row(sheet, 1, {"main", "batch", 75, 0.015, 0.030, 2, 1, 15});
  expect_row(sheet, 2, {"main", "step", 37.5, 0.015, 0.015, 1, 0, 15});
  EXPECT_EQ(flat_sheet(trace, TracePart::whole_run), flat_sheet(flat_trace()));
}

TEST(ProfileFlat, EmptyTracesAndEmptySpansAreNoProblem) {
  EXPECT_EQ(flat_sheet({}).rows(), 0u);
  EXPECT_EQ(flat_sum_sheet({}).rows(), 0u);
  Trace trace{.lanes = {{"main"}}};
  add_span(trace, 0, "a", 5, 5);
  EXPECT_EQ(flat_sheet(trace).at(0, "time_percent"), Cell());
  EXPECT_EQ(flat_sum_sheet(trace).at(0, "calls"), Cell(std::int64_t{1}));
}

}  // namespace
}  // namespace headroom
