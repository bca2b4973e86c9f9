#include "report/profile_kernels.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using testing::add_call, testing::add_kernel, testing::add_span, testing::add_window;

// In the window: gemm 1000, 3000 and 2000 ns; relu 500 and 500 ns; an empty one. Two ranks.
Trace small_gpu_trace() {
  Trace trace{.lanes = {{"main"}, {"stream 7", true}, {"stream 7", true, 1}}};
  add_window(trace, 0, 100'000, 200'000);
  add_window(trace, 1, 500'000, 600'000);
  add_kernel(trace, 1, "void gemm<4>(int)", 90'000, 150'000);  // begins too early
  add_kernel(trace, 1, "void gemm<4>(int)", 100'000, 101'000);
  add_kernel(trace, 1, "relu", 101'000, 101'500);
  add_kernel(trace, 1, "void gemm<4>(int)", 102'000, 105'000);
  add_kernel(trace, 1, "empty", 106'000, 106'000);
  add_kernel(trace, 2, "relu", 102'000, 109'000);  // not in the window of its rank
  add_kernel(trace, 2, "relu", 599'800, 600'300);  // begins in time
  add_kernel(trace, 2, "void gemm<4>(int)", 502'000, 504'000);
  add_call(trace, 0, "cudaLaunchKernel", 100'000, 100'300, 1);
  add_call(trace, 0, "cudaLaunchKernel", 100'400, 100'500, 2);
  add_call(trace, 0, "cudaMemcpyAsync", 100'600, 101'200, 3);
  add_call(trace, 0, "cudaFree", 300'000, 900'000, 4);
  return trace;
}

double cell_number(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<double>(sheet.at(row, key));
}

TEST(ProfileKernels, EveryCellIsTheOneCountedByHand) {
  const Sheet sheet = kernels_sheet(small_gpu_trace());
  ASSERT_EQ(sheet.rows(), 3u);
  EXPECT_EQ(sheet.at(0, "name"), Cell("void gemm<4>(int)"));
  EXPECT_EQ(sheet.at(0, "short_name"), Cell("gemm<4>"));
  EXPECT_EQ(sheet.at(0, "calls"), Cell(std::int64_t{3}));
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "time_percent"), 100 * 6000.0 / 7000);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "total_ms"), 0.006);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "average_us"), 2);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "min_us"), 1);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "max_us"), 3);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "median_us"), 2);
  EXPECT_EQ(sheet.at(1, "name"), Cell("relu"));
  EXPECT_EQ(sheet.at(1, "calls"), Cell(std::int64_t{2}));
  EXPECT_DOUBLE_EQ(cell_number(sheet, 1, "total_ms"), 0.001);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 1, "median_us"), 0.5);
  EXPECT_EQ(sheet.at(2, "name"), Cell("empty"));
  EXPECT_DOUBLE_EQ(cell_number(sheet, 2, "time_percent"), 0);
  EXPECT_EQ(sheet.csv().substr(0, sheet.csv().find('\n')),
            "time_percent,total_ms,calls,average_us,min_us,max_us,median_us,short_name,name");
}

TEST(ProfileKernels, WithoutWindowsEverythingCounts) {
  Trace trace = small_gpu_trace();
  trace.windows.clear();
  const Sheet sheet = kernels_sheet(trace);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "total_ms"), 0.066);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 1, "total_ms"), 0.008);
}

TEST(ProfileKernels, CallsAreCountedLikeKernels) {
  const Sheet sheet = calls_sheet(small_gpu_trace());
  ASSERT_EQ(sheet.rows(), 2u) << "cudaFree came after the window";
  EXPECT_EQ(sheet.at(0, "name"), Cell("cudaMemcpyAsync"));
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "time_percent"), 60);
  EXPECT_EQ(sheet.at(1, "name"), Cell("cudaLaunchKernel"));
  EXPECT_DOUBLE_EQ(cell_number(sheet, 1, "total_ms"), 0.0004);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 1, "average_us"), 0.2);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 1, "median_us"), 0.2);
}

TEST(ProfileKernels, OnACpuStepsPlayTheRole) {
  Trace trace{.lanes = {{"main"}}};
  add_span(trace, 0, "batch", 0, 900, 0, SpanKind::batch);
  add_span(trace, 0, "conv2d gemm", 0, 300, 1, SpanKind::step);
  add_span(trace, 0, "conv2d gemm", 300, 500, 1, SpanKind::step);
  const Sheet sheet = kernels_sheet(trace);
  ASSERT_EQ(sheet.rows(), 1u);
  EXPECT_EQ(sheet.at(0, "name"), Cell("conv2d gemm"));
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "total_ms"), 0.0005);
  EXPECT_DOUBLE_EQ(cell_number(sheet, 0, "time_percent"), 100);
}

TEST(ProfileKernels, MajorityExceedsNinetyPercent) {
  Trace trace{.lanes = {{"stream 7", true}}};
  add_kernel(trace, 0, "a", 0, 600);
  add_kernel(trace, 0, "b", 600, 900);
  add_kernel(trace, 0, "c", 900, 960);
  add_kernel(trace, 0, "d", 960, 1000);
  const Majority majority = majority_of(kernels_sheet(trace));
  EXPECT_EQ(majority.rows, 3) << "a and b have 90 % together: not more";
  EXPECT_EQ(majority.of, 4);
  EXPECT_DOUBLE_EQ(majority.percent, 96);
  EXPECT_EQ(majority_sentence(kernels_sheet(trace), "kernel", "kernel time"),
            "3 of 4 kernels take 96.0 % of the kernel time.");
}

TEST(ProfileKernels, EmptyTracesAndEmptyKernelsAreNoProblem) {
  EXPECT_EQ(kernels_sheet({}).rows(), 0u);
  EXPECT_EQ(calls_sheet({}).rows(), 0u);
  EXPECT_EQ(majority_sentence(kernels_sheet({}), "kernel", "kernel time"), "");
  Trace trace{.lanes = {{"stream 7", true}}};
  add_kernel(trace, 0, "a", 5, 5);
  EXPECT_EQ(kernels_sheet(trace).at(0, "time_percent"), Cell());
  EXPECT_EQ(majority_sentence(kernels_sheet(trace), "kernel", "kernel time"), "1 kernel without any time.");
}

}  // namespace
}  // namespace headroom
