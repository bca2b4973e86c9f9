#include "report/profile_events.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using namespace testing;

std::size_t row_named(const Sheet& sheet, const std::string& name) {
  for (std::size_t r = 0; r < sheet.rows(); ++r)
    if (sheet.at(r, "event") == Cell(name)) return r;
  ADD_FAILURE() << "no event " << name;
  return 0;
}

void expect_event(const Sheet& sheet, const std::string& name, std::int64_t count, double min, double mean,
                  double max, double deviation) {
  const std::size_t row = row_named(sheet, name);
  const auto number = [&](const char* key) { return std::get<double>(sheet.at(row, key)); };
  EXPECT_EQ(sheet.at(row, "count"), Cell(count)) << name;
  EXPECT_DOUBLE_EQ(number("min"), min) << name;
  EXPECT_DOUBLE_EQ(number("mean"), mean) << name;
  EXPECT_DOUBLE_EQ(number("max"), max) << name;
  EXPECT_NEAR(number("deviation"), deviation, 1e-12 * max) << name;
}

TEST(ProfileEvents, SizesOfWhatHappened) {
  RunProfile p;
  Trace& t = p.trace;
  t.lanes = {{.name = "main"}, {.name = "loader 1"}, {.name = "compute stream", .is_stream = true}};
  p.losses = {{0.1, 2.0}, {0.2, 1.0}, {0.3, 0.0}};
  add_copy(t, 2, Trace::CopyKind::host_to_device, 100, 1000, 2000);
  add_copy(t, 2, Trace::CopyKind::host_to_device, 300, 3000, 4000);
  add_copy(t, 2, Trace::CopyKind::device_to_host, 8, 5000, 6000);
  add_copy(t, 2, Trace::CopyKind::device_to_host, 8, 50000, 60000);  // after the window
  add_span(t, 1, "prepare a batch", 1000, 5000, 0, SpanKind::data);
  add_span(t, 0, "batch iteration", 1000, 5000, 0, SpanKind::batch);  // not a size
  add_call(t, 0, "cudaGraphLaunch", 1000, 1500, 7);
  add_kernel(t, 2, "a", 4000, 5000, 7);
  add_kernel(t, 2, "b", 6000, 7000, 7);  // of the same launch
  add_call(t, 0, "cudaLaunchKernel", 7000, 7500, 8);
  add_kernel(t, 2, "c", 8000, 9000, 8);
  add_window(t, 0, 0, 10000);
  const Sheet sheet = events_sheet(p);
  EXPECT_EQ(sheet.rows(), 5u);
  expect_event(sheet, "loss", 3, 0, 1, 2, std::sqrt(2.0 / 3));
  expect_event(sheet, "copy host to device", 2, 100, 200, 300, 100);
  expect_event(sheet, "copy device to host", 1, 8, 8, 8, 0);
  expect_event(sheet, "prepare a batch", 1, 4, 4, 4, 0);
  expect_event(sheet, "from launch to first kernel", 2, 1, 2, 3, 1);
}

TEST(ProfileEvents, NothingHappened) { EXPECT_EQ(events_sheet({}).rows(), 0u); }

}  // namespace
}  // namespace headroom
