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

TEST(ProfileCopies, PagesOfManagedMemoryHaveRows) {
  using Event = Trace::PageEvent;
  Trace trace = copy_trace();
  const auto add = [&](Event kind, std::int64_t begin, std::int64_t end, std::int64_t bytes,
                       std::int64_t faults) {
    Trace::Pages pages;
    pages.begin_ns = begin, pages.end_ns = end;
    pages.kind = kind, pages.bytes = bytes, pages.faults = faults;
    trace.pages.push_back(pages);
  };
  add(Event::to_device, 1000, 2000, 65'536, 0);
  add(Event::to_device, 3000, 4000, 4'096, 0);
  add(Event::device_faults, 1000, 5000, 0, 17);
  add(Event::device_faults, 200'000, 200'100, 0, 5);  // after the window
  const Sheet sheet = copies_sheet(trace, 50e9);
  ASSERT_EQ(sheet.rows(), 8u);
  EXPECT_EQ(sheet.at(5, "kind"), Cell("pages to device"));
  EXPECT_EQ(sheet.at(5, "memory"), Cell("managed"));
  EXPECT_EQ(sheet.at(5, "count"), Cell(std::int64_t{2}));
  EXPECT_EQ(sheet.at(5, "bytes"), Cell(std::int64_t{69'632}));
  EXPECT_DOUBLE_EQ(rate(sheet, 5, "gb_per_s"), 34.816);
  EXPECT_EQ(sheet.at(6, "kind"), Cell("page faults of the device"));
  EXPECT_EQ(sheet.at(6, "count"), Cell(std::int64_t{17}));
  EXPECT_EQ(sheet.at(6, "bytes"), Cell());
  EXPECT_EQ(sheet.at(7, "count"), Cell(std::int64_t{7})) << "the total is of copies";
}

TEST(ProfileCopies, WithoutALinkOrCopies) {
  EXPECT_EQ(copies_sheet(copy_trace()).at(0, "link_percent"), Cell());
  EXPECT_EQ(copies_sheet({}).rows(), 0u);
}

}  // namespace
}  // namespace headroom
