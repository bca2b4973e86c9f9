#include "report/profile_copies.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using testing::add_copy, testing::add_window;
using Kind = Trace::CopyKind;

Trace copy_trace() {
  Trace trace{.lanes = {{"stream 7", true}}};
  add_window(trace, 0, 0, 100'000);
  add_copy(trace, 0, Kind::host_to_device, 30'000, 0, 1000);
  add_copy(trace, 0, Kind::host_to_device, 50'000, 1000, 2000);
  add_copy(trace, 0, Kind::host_to_device, 5'000, 3000, 4000).pinned = false;
  add_copy(trace, 0, Kind::device_to_host, 4, 5000, 5000);
  add_copy(trace, 0, Kind::device_to_device, 600'000, 6000, 6500).pinned = false;
  add_copy(trace, 0, Kind::device_to_device, 600'000, 7000, 7500).pinned = true;
  add_copy(trace, 0, Kind::fill, 100, 99'999, 100'009);
  add_copy(trace, 0, Kind::fill, 100, 100'000, 100'010);  // after the window
  return trace;
}

double rate(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<double>(sheet.at(row, key));
}

TEST(ProfileCopies, EveryCellIsTheOneCountedByHand) {
  const Sheet sheet = copies_sheet(copy_trace(), 50e9);
  ASSERT_EQ(sheet.rows(), 6u);
  EXPECT_EQ(sheet.at(0, "kind"), Cell("host to device"));
  EXPECT_EQ(sheet.at(0, "memory"), Cell("pinned"));
  EXPECT_EQ(sheet.at(0, "count"), Cell(std::int64_t{2}));
  EXPECT_EQ(sheet.at(0, "bytes"), Cell(std::int64_t{80'000}));
  EXPECT_DOUBLE_EQ(rate(sheet, 0, "total_ms"), 0.002);
  EXPECT_DOUBLE_EQ(rate(sheet, 0, "gb_per_s"), 40);
  EXPECT_DOUBLE_EQ(rate(sheet, 0, "link_percent"), 80);
  EXPECT_EQ(sheet.at(1, "memory"), Cell("pageable"));
  EXPECT_DOUBLE_EQ(rate(sheet, 1, "gb_per_s"), 5);
  EXPECT_DOUBLE_EQ(rate(sheet, 1, "link_percent"), 10);
  EXPECT_EQ(sheet.at(2, "kind"), Cell("device to device"));
  EXPECT_EQ(sheet.at(2, "memory"), Cell()) << "no host memory";
  EXPECT_EQ(sheet.at(2, "count"), Cell(std::int64_t{2}));
  EXPECT_DOUBLE_EQ(rate(sheet, 2, "gb_per_s"), 1200);
  EXPECT_EQ(sheet.at(2, "link_percent"), Cell()) << "does not use the link";
  EXPECT_EQ(sheet.at(3, "kind"), Cell("fill"));
  EXPECT_EQ(sheet.at(3, "count"), Cell(std::int64_t{1}));
  EXPECT_EQ(sheet.at(4, "kind"), Cell("device to host"));
  EXPECT_EQ(sheet.at(4, "gb_per_s"), Cell()) << "no time, no rate";
  EXPECT_EQ(sheet.at(5, "count"), Cell(std::int64_t{7}));
  EXPECT_EQ(sheet.at(5, "bytes"), Cell(std::int64_t{1'285'104}));
  EXPECT_DOUBLE_EQ(rate(sheet, 5, "total_ms"), 0.00401);
}

TEST(ProfileCopies, WithoutALinkOrCopies) {
  EXPECT_EQ(copies_sheet(copy_trace()).at(0, "link_percent"), Cell());
  EXPECT_EQ(copies_sheet({}).rows(), 0u);
}

}  // namespace
}  // namespace headroom
