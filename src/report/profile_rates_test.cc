#include "report/profile_rates.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using namespace testing;

double rate_cell(const Sheet& sheet, const std::string& name, const std::string& key, std::int64_t rank = 0) {
  for (std::size_t row = 0; row < sheet.rows(); ++row)
    if (sheet.at(row, "rate") == Cell(name) && sheet.at(row, "rank") == Cell(rank))
      return std::get<double>(sheet.at(row, key));
  ADD_FAILURE() << "no row " << name;
  return -1;
}

// A window of 1 ms. Kernels run in [100, 300] and [200, 400] us, copies in [250, 450] and [440, 500] us.
RunProfile busy_gpu() {
  RunProfile profile;
  Trace& t = profile.trace;
  t.lanes = {{"main"}, {"compute stream", true}, {"side stream", true}, {"copy stream", true}};
  add_span(t, 0, "batch", 0, 1'000'000, 0, SpanKind::batch);
  add_kernel(t, 1, "gemm", 100'000, 300'000);
  add_kernel(t, 2, "bias", 200'000, 400'000);
  add_copy(t, 3, Trace::CopyKind::host_to_device, 2'000'000, 250'000, 450'000);
  add_copy(t, 1, Trace::CopyKind::device_to_host, 60'000, 440'000, 500'000);
  add_copy(t, 1, Trace::CopyKind::fill, 8'000'000, 600'000, 900'000);
  add_copy(t, 1, Trace::CopyKind::host_to_device, 9'000'000, 2'000'000, 3'000'000);  // after the window
  add_window(t, 0, 0, 1'000'000);
  return profile;
}

TEST(ProfileRates, EachRateHasBothOfItsParts) {
  const Sheet sheet = rates_sheet(busy_gpu());
  ASSERT_EQ(sheet.rows(), 5u);
  EXPECT_NEAR(rate_cell(sheet, "memcpy/kernel overlap", "numerator"), 0.150, 1e-9) << "250 to 400 us";
  EXPECT_NEAR(rate_cell(sheet, "memcpy/kernel overlap", "denominator"), 0.250, 1e-9) << "250 to 500 us";
  EXPECT_NEAR(rate_cell(sheet, "memcpy/kernel overlap", "percent"), 60, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "kernel concurrency", "numerator"), 0.100, 1e-9) << "200 to 300 us";
  EXPECT_NEAR(rate_cell(sheet, "kernel concurrency", "denominator"), 0.300, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "memcpy overlap", "numerator"), 0.010, 1e-9) << "440 to 450 us";
  EXPECT_NEAR(rate_cell(sheet, "memcpy overlap", "percent"), 4, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "compute utilisation", "numerator"), 0.300, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "compute utilisation", "denominator"), 1, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "memcpy throughput", "numerator"), 2.06, 1e-9) << "MB, without the fill";
  EXPECT_NEAR(rate_cell(sheet, "memcpy throughput", "denominator"), 0.260, 1e-9) << "200 and 60 us";
  EXPECT_NEAR(rate_cell(sheet, "memcpy throughput", "gbytes_per_s"), 2.06 / 0.26, 1e-9);
  EXPECT_EQ(sheet.at(2, "percent"), Cell()) << "no machine says what the link can do";
}

TEST(ProfileRates, ThroughputIsComparedWithTheLink) {
  RunProfile profile = busy_gpu();
  profile.record.machine.emplace();
  profile.record.machine->host_link.upload = 20e9;  // 2 MB take 100 us
  EXPECT_EQ(rates_sheet(profile).at(2, "percent"), Cell()) << "one direction is unknown";
  profile.record.machine->host_link.bytes_per_s = 10e9;  // 60 kB take 6 us
  EXPECT_NEAR(rate_cell(rates_sheet(profile), "memcpy throughput", "percent"), 100 * 106.0 / 260, 1e-9);
}

TEST(ProfileRates, EventsAreCutAtTheWindowAndBelongToTheirRank) {
  RunProfile profile = busy_gpu();
  Trace& t = profile.trace;
  t.lanes.push_back({"stream 7", true, 1});
  add_kernel(t, 4, "gemm", 900'000, 1'700'000);
  add_window(t, 1, 1'000'000, 2'000'000);
  const Sheet sheet = rates_sheet(profile);
  ASSERT_EQ(sheet.rows(), 7u) << "rank 1 has no copies";
  EXPECT_NEAR(rate_cell(sheet, "compute utilisation", "numerator", 0), 0.300, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "compute utilisation", "numerator", 1), 0.700, 1e-9);
  EXPECT_NEAR(rate_cell(sheet, "kernel concurrency", "numerator", 1), 0, 1e-9);
}

TEST(ProfileRates, ThreeAtOnceCountLikeTwo) {
  RunProfile profile;
  Trace& t = profile.trace;
  t.lanes = {{"a", true}, {"b", true}, {"c", true}};
  add_kernel(t, 0, "k", 0, 100'000);
  add_kernel(t, 1, "k", 10'000, 30'000);
  add_kernel(t, 2, "k", 20'000, 50'000);
  add_kernel(t, 1, "k", 80'000, 120'000);
  add_window(t, 0, 0, 200'000);
  EXPECT_NEAR(rate_cell(rates_sheet(profile), "kernel concurrency", "numerator"), 0.060, 1e-9)
      << "10 to 50 and 80 to 100 us";
}

TEST(ProfileRates, OnACpuStepsAndThreadsCount) {
  RunProfile profile;
  Trace& t = profile.trace;
  t.lanes = {{"main"}, {"thread 2"}, {"loader 1"}};
  add_span(t, 0, "batch", 0, 1'000'000, 0, SpanKind::batch);
  add_span(t, 0, "conv2d", 0, 800'000, 1, SpanKind::step);
  add_span(t, 0, "share of a kernel", 0, 600'000, 2, SpanKind::worker);
  add_span(t, 1, "share of a kernel", 100'000, 500'000, 0, SpanKind::worker);
  add_span(t, 1, "share of a kernel", 900'000, 1'500'000, 0, SpanKind::worker);
  add_span(t, 2, "prepare a batch", 0, 900'000, 0, SpanKind::data);
  add_span(t, 0, "wait for other ranks", 700'000, 800'000, 2, SpanKind::wait);
  add_window(t, 0, 0, 1'000'000);
  const Sheet sheet = rates_sheet(profile);
  ASSERT_EQ(sheet.rows(), 2u);
  EXPECT_NEAR(rate_cell(sheet, "compute utilisation", "percent"), 70, 1e-9) << "waiting is not computing";
  EXPECT_NEAR(rate_cell(sheet, "busy threads", "numerator"), 1.1, 1e-9) << "0.6 and 0.4 + 0.1 ms";
  EXPECT_NEAR(rate_cell(sheet, "busy threads", "denominator"), 2, 1e-9) << "the loader is not one of them";
  EXPECT_NEAR(rate_cell(sheet, "busy threads", "percent"), 55, 1e-9);
}

TEST(ProfileRates, AnEmptyTraceHasNoRates) { EXPECT_EQ(rates_sheet({}).rows(), 0u); }

}  // namespace
}  // namespace headroom
