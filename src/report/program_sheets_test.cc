#include "report/program_sheets.h"

#include <gtest/gtest.h>

#include "inject/injected_trace.h"
#include "inject/step_windows.h"
#include "inject/testing/recorded_training.h"

namespace headroom {
namespace {

using inject::testing::FakeProcess;
using inject::testing::training_step;

double number_at(const Sheet& sheet, const std::string& key_column, const std::string& key,
                 const std::string& column) {
  for (std::size_t row = 0; row < sheet.rows(); ++row)
    if (sheet.at(row, key_column) == Cell(key)) {
      const Cell& cell = sheet.at(row, column);
      if (const auto* whole = std::get_if<std::int64_t>(&cell)) return double(*whole);
      return std::get<double>(cell);
    }
  ADD_FAILURE() << "no row " << key;
  return 0;
}

TEST(ProgramSheets, TheWholeRunAddsUpAllProcesses) {
  std::vector<inject::ProcessRecord> processes;
  for (const int steps : {4, 6}) {
    FakeProcess process({.first = true, .max_events = 5});
    for (int i = 0; i < steps; ++i) training_step(process);
    process.aggregator().kernel("_Z6updatePf", {}, {});
    processes.push_back(process.finish());
  }
  const Sheet sheet = whole_run_sheet(processes);
  EXPECT_EQ(number_at(sheet, "name", "forward(float*)", "count"), 10);
  EXPECT_NEAR(number_at(sheet, "name", "forward(float*)", "total_ms"), 0.2, 1e-9);
  EXPECT_NEAR(number_at(sheet, "name", "forward(float*)", "average_us"), 20, 1e-9);
  EXPECT_EQ(number_at(sheet, "name", "update(float*)", "without_time"), 2);
  EXPECT_EQ(number_at(sheet, "name", "host to device", "bytes"), 40960);
  EXPECT_EQ(number_at(sheet, "name", "cudaLaunchKernel", "count"), 30);
  EXPECT_EQ(number_at(sheet, "name", "step", "count"), 10);
  EXPECT_EQ(sheet.at(0, "name"), Cell("backward(float*)")) << "kernels first, the largest first";
  const std::string text = processes_text(processes, {});
  EXPECT_NE(text.find("2 processes with CUDA"), std::string::npos) << text;
  EXPECT_NE(text.find("2 records have no time"), std::string::npos) << text;
  EXPECT_NE(text.find("a window of 10 of them"), std::string::npos) << text;
}

TEST(ProgramSheets, TimesArePerStep) {
  FakeProcess process;
  for (int i = 0; i < 10; ++i) training_step(process);
  Trace trace = inject::trace_of({process.finish()});
  inject::set_step_windows(trace, {});
  const Sheet kernels = step_kernels_sheet(trace);
  EXPECT_NEAR(number_at(kernels, "name", "backward(float*)", "ms_per_step"), 0.03, 1e-9);
  EXPECT_EQ(number_at(kernels, "name", "backward(float*)", "launches_per_step"), 1);
  const Sheet ranges = range_kernels_sheet(trace);
  EXPECT_EQ(ranges.rows(), 3u);
  EXPECT_NEAR(number_at(ranges, "range", "step > forward", "ms_per_step"), 0.02, 1e-9);
  EXPECT_NEAR(number_at(ranges, "range", "step > forward", "percent"), 100.0 / 3, 1e-9);
}

TEST(ProgramSheets, WithoutRangesThereIsNoTableOfThem) {
  FakeProcess process;
  process.kernel("a", 10);
  EXPECT_EQ(range_kernels_sheet(inject::trace_of({process.finish()})).rows(), 0u);
}

}  // namespace
}  // namespace headroom
