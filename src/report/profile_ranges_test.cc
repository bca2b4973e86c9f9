#include "report/profile_ranges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using testing::add_call, testing::add_copy, testing::add_kernel, testing::add_span, testing::add_window;

// Two batches: copy, forward. The first forward launches two kernels that overlap nothing, on two streams;
// the second batch is captured: one graph launch, two kernels. Another rank uses the same correlations.
Trace range_trace() {
  Trace trace{
      .lanes = {{"main"}, {"stream 7", true}, {"stream 8", true}, {"main", false, 1}, {"stream 7", true, 1}}};
  add_span(trace, 0, "train", 0, 100'000, 0, SpanKind::training);
  add_span(trace, 0, "batch", 0, 40'000, 1, SpanKind::batch);
  add_span(trace, 0, "copy", 1'000, 5'000, 2, SpanKind::copy);
  add_span(trace, 0, "forward", 6'000, 26'000, 2, SpanKind::phase);
  add_span(trace, 0, "batch", 40'000, 70'000, 1, SpanKind::batch);
  add_span(trace, 0, "copy", 41'000, 43'000, 2, SpanKind::copy);
  add_span(trace, 3, "train", 0, 50'000, 0, SpanKind::training);
  add_call(trace, 0, "cudaMemcpyAsync", 1'500, 1'600, 1);
  add_call(trace, 0, "cudaLaunchKernel", 6'000, 7'000, 2);
  add_call(trace, 0, "cudaLaunchKernel", 25'999, 27'000, 3);
  add_call(trace, 0, "cudaDeviceSynchronize", 30'000, 39'000, 4);  // launches nothing
  add_call(trace, 0, "cudaGraphLaunch", 45'000, 46'000, 5);
  add_call(trace, 3, "cudaLaunchKernel", 10, 20, 2);
  add_copy(trace, 1, Trace::CopyKind::host_to_device, 100, 2'000, 3'000, 1);
  add_kernel(trace, 1, "a", 10'000, 12'000, 2);
  add_kernel(trace, 2, "b", 30'000, 33'000, 3);
  add_kernel(trace, 1, "a", 72'000, 73'000, 5).step = 0;  // later than its batch
  add_kernel(trace, 2, "b", 73'000, 79'000, 5).step = 1;
  add_kernel(trace, 4, "a", 40'000, 41'000, 2);
  add_kernel(trace, 1, "nobody's", 50'000, 90'000);
  return trace;
}

using Numbers = std::vector<double>;

TEST(ProfileRanges, TimesByPathOnTheHostAndTheDevice) {
  const std::vector<RangeRow> rows = range_rows(range_trace());
  ASSERT_EQ(rows.size(), 4u);
  using Path = std::vector<std::string>;
  EXPECT_EQ(rows[0].path, Path{"train"});
  EXPECT_EQ(rows[0].host_ns, (Numbers{100'000, 50'000}));
  EXPECT_EQ(rows[0].gpu_ns, (Numbers{77'000, 1'000})) << "from 2,000 to 79,000; of rank 1 its own kernel";
  EXPECT_FALSE(rows[0].percent_of_parent);
  EXPECT_EQ(rows[1].path, (Path{"train", "batch"}));
  EXPECT_EQ(rows[1].host_ns, (Numbers{40'000, 30'000}));
  EXPECT_EQ(rows[1].gpu_ns, (Numbers{31'000, 7'000}));
  EXPECT_DOUBLE_EQ(rows[1].percent_of_parent.value(), 100 * 70.0 / 150);
  EXPECT_EQ(rows[2].path, (Path{"train", "batch", "copy"}));
  EXPECT_EQ(rows[2].host_ns, (Numbers{4'000, 2'000}));
  EXPECT_EQ(rows[2].gpu_ns, Numbers{1'000}) << "the second launched nothing";
  EXPECT_EQ(rows[3].path, (Path{"train", "batch", "forward"}));
  EXPECT_EQ(rows[3].gpu_ns, Numbers{23'000}) << "a call belongs to the span in which it begins";
}

TEST(ProfileRanges, SheetHasEveryFigure) {
  const Sheet sheet = ranges_sheet(range_rows(range_trace()));
  const auto value = [&](const char* key) { return std::get<double>(sheet.at(1, key)); };
  EXPECT_EQ(sheet.at(1, "range"), Cell("  batch"));
  EXPECT_EQ(sheet.at(2, "path"), Cell("train > batch > copy"));
  EXPECT_DOUBLE_EQ(value("total_ms"), 0.070);
  EXPECT_EQ(sheet.at(1, "instances"), Cell(std::int64_t{2}));
  EXPECT_DOUBLE_EQ(value("average_us"), 35);
  EXPECT_DOUBLE_EQ(value("median_us"), 35);
  EXPECT_DOUBLE_EQ(value("min_us"), 30);
  EXPECT_DOUBLE_EQ(value("max_us"), 40);
  EXPECT_DOUBLE_EQ(value("deviation_us"), std::sqrt(50.0));
  EXPECT_DOUBLE_EQ(value("parent_percent"), 100 * 70.0 / 150);
  EXPECT_DOUBLE_EQ(value("gpu_total_ms"), 0.038);
  EXPECT_EQ(sheet.at(1, "gpu_instances"), Cell(std::int64_t{2}));
  EXPECT_DOUBLE_EQ(value("gpu_average_us"), 19);
  EXPECT_DOUBLE_EQ(value("gpu_median_us"), 19);
  EXPECT_DOUBLE_EQ(value("gpu_min_us"), 7);
  EXPECT_DOUBLE_EQ(value("gpu_max_us"), 31);
  EXPECT_DOUBLE_EQ(value("gpu_deviation_us"), std::sqrt(288.0));
  EXPECT_EQ(sheet.at(3, "deviation_us"), Cell()) << "one instance";
  EXPECT_EQ(sheet.at(0, "parent_percent"), Cell());
}

TEST(ProfileRanges, CountsTheWindows) {
  Trace trace = range_trace();
  add_window(trace, 0, 0, 10'000), add_window(trace, 0, 40'000, 60'000);
  const std::vector<RangeRow> rows = range_rows(trace);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].host_ns, Numbers{30'000});
  EXPECT_EQ(rows[0].gpu_ns, Numbers{10'000 + 7'000})
      << "2,000 to 12,000 and 72,000 to 79,000, without the gap";
  EXPECT_EQ(rows[1].host_ns, (Numbers{10'000, 20'000}));
  EXPECT_EQ(rows[3].gpu_ns, Numbers{2'000}) << "the second launch came after the window";
  EXPECT_EQ(range_rows(trace, TracePart::whole_run)[0].host_ns, (Numbers{100'000, 50'000}));
}

TEST(ProfileRanges, ZoomKeepsWhatLiesWithin) {
  const std::vector<RangeRow> rows = range_rows(range_trace());
  const Sheet batch = ranges_sheet(zoomed(rows, "batch"));
  ASSERT_EQ(batch.rows(), 3u);
  EXPECT_EQ(batch.at(0, "range"), Cell("batch"));
  EXPECT_EQ(batch.at(1, "path"), Cell("batch > copy"));
  EXPECT_DOUBLE_EQ(std::get<double>(batch.at(2, "parent_percent")), 100 * 20.0 / 70);
  const std::vector<RangeRow> phases = zoomed(rows, "phase");
  ASSERT_EQ(phases.size(), 1u) << "by kind";
  EXPECT_EQ(phases[0].path, std::vector<std::string>{"forward"});
  try {
    zoomed(rows, "bach");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no range has the name 'bach'");
    EXPECT_EQ(error.hint(), "did you mean 'batch'?");
  }
}

TEST(ProfileRanges, ANameAtSeveralPlacesIsKeptAtEach) {
  Trace trace{.lanes = {{"main"}}};
  add_span(trace, 0, "a", 0, 50);
  add_span(trace, 0, "x", 0, 10, 1);
  add_span(trace, 0, "x", 2, 4, 2);
  add_span(trace, 0, "b", 50, 90);
  add_span(trace, 0, "x", 60, 70, 1);
  const Sheet sheet = ranges_sheet(zoomed(range_rows(trace), "x"));
  ASSERT_EQ(sheet.rows(), 3u);
  EXPECT_EQ(sheet.at(0, "path"), Cell("x"));
  EXPECT_EQ(sheet.at(1, "path"), Cell("x > x"));
  EXPECT_EQ(sheet.at(2, "path"), Cell("x"));
}

TEST(ProfileRanges, EmptyTracesAndEmptySpansAreNoProblem) {
  EXPECT_EQ(ranges_sheet(range_rows({})).rows(), 0u);
  Trace trace{.lanes = {{"main"}, {"main", false, 1}}};
  add_span(trace, 0, "a", 5, 5);
  add_span(trace, 0, "b", 5, 5, 1);
  add_span(trace, 0, "c", 5, 50);
  add_call(trace, 1, "cudaLaunchKernel", 6, 7, 1);  // on its thread is no span
  add_kernel(trace, 1, "k", 7, 8, 1);
  const Sheet sheet = ranges_sheet(range_rows(trace));
  ASSERT_EQ(sheet.rows(), 3u);
  EXPECT_EQ(sheet.at(1, "parent_percent"), Cell());
  EXPECT_EQ(sheet.at(2, "gpu_total_ms"), Cell());
  EXPECT_EQ(sheet.text().find("GPU"), std::string::npos) << "nothing to show";
}

}  // namespace
}  // namespace headroom
