#include "report/profile_card.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using testing::add_kernel, testing::add_window;

Trace card_trace() {
  Trace trace{.lanes = {{"stream 7", true}, {"stream 9", true, 1}}};
  add_window(trace, 0, 0, 1'000'000);
  add_window(trace, 1, 0, 1'000'000);
  for (int i = 0; i < 3; ++i) {  // 1, 2 and 3 us
    Trace::Kernel& k = add_kernel(trace, i == 2 ? 1 : 0, "void gemm<4>(int)", 10'000 * (i + 1),
                                  10'000 * (i + 1) + 1000 * (i + 1));
    k.grid = {128, 2, 1}, k.block = {128, 1, 1}, k.registers = 168, k.dynamic_shared = 1000,
    k.static_shared = 24;
    k.shared_executed = 2048;
    if (i < 2) k.queued_ns = k.begin_ns - 500 * (i + 1);  // 0.5 and 1 us
  }
  Trace::Kernel& wide = add_kernel(trace, 0, "void gemm<4>(int)", 50'000, 60'000);
  wide.block = {256, 1, 1}, wide.registers = 32, wide.local = 16;
  add_kernel(trace, 0, "gelu", 70'000, 80'000);
  add_kernel(trace, 0, "before", 2'000'000, 2'000'001);
  return trace;
}

TEST(ProfileCard, OneCardPerWayToLaunch) {
  const std::vector<LaunchCard> cards = launch_cards(card_trace(), "gemm<4>", sm_limits(90));
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[0].launches, 1) << "10 us: the most time";
  EXPECT_DOUBLE_EQ(cards[0].occupancy->percent, 100);
  const LaunchCard& narrow = cards[1];
  EXPECT_EQ(narrow.launches, 3);
  EXPECT_DOUBLE_EQ(narrow.average_s, 2e-6);
  EXPECT_DOUBLE_EQ(narrow.first_start_s, 10e-6);
  EXPECT_DOUBLE_EQ(narrow.last_end_s, 33e-6);
  EXPECT_DOUBLE_EQ(narrow.queued_s.value(), 0.75e-6);
  EXPECT_FALSE(narrow.submitted_s);
  EXPECT_EQ(narrow.streams, "stream 7, stream 9 of rank 1");
  EXPECT_EQ(narrow.occupancy->blocks, 3);
  EXPECT_EQ(narrow.occupancy->limiter, "registers");
}

TEST(ProfileCard, EveryDifferenceMakesACard) {
  const std::vector<void (*)(Trace::Kernel&)> changes = {
      [](Trace::Kernel& k) { k.grid[1] = 2; },         [](Trace::Kernel& k) { k.block[2] = 2; },
      [](Trace::Kernel& k) { k.cluster[0] = 2; },      [](Trace::Kernel& k) { k.registers = 9; },
      [](Trace::Kernel& k) { k.static_shared = 1; },   [](Trace::Kernel& k) { k.dynamic_shared = 1; },
      [](Trace::Kernel& k) { k.shared_executed = 1; }, [](Trace::Kernel& k) { k.local = 1; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Trace trace{.lanes = {{"stream 7", true}, {"stream 8", true}}};
    add_kernel(trace, 0, "k", 0, 10);
    changes[i](add_kernel(trace, 0, "k", 20, 30));
    EXPECT_EQ(launch_cards(trace, "k", {}).size(), 2u) << i;
  }
}

TEST(ProfileCard, LaunchesMayOverlap) {
  Trace trace{.lanes = {{"stream 7", true}, {"stream 8", true}}};
  add_kernel(trace, 0, "void gelu(int)", 0, 100);
  add_kernel(trace, 1, "void gelu(int)", 20, 30);
  add_kernel(trace, 1, "void gelu_grad(int)", 40, 50);
  const std::vector<LaunchCard> cards = launch_cards(trace, "gelu", {});
  ASSERT_EQ(cards.size(), 1u) << "the name as printed, though another one contains it";
  EXPECT_DOUBLE_EQ(cards[0].last_end_s, 100e-9);
}

TEST(ProfileCard, Prints) {
  EXPECT_EQ(card_text(launch_cards(card_trace(), "void gemm<4>(int)", sm_limits(90))),
            "void gemm<4>(int)\n"
            "  launches       1, 10.0 us each on average\n"
            "  start, end     first start 0.050 ms, last end 0.060 ms after the start of the trace\n"
            "  delays         queued not known, submitted not known\n"
            "  stream         stream 7\n"
            "  grid           1 x 1 x 1: 1 block\n"
            "  block          256 x 1 x 1: 256 threads, 8 warps\n"
            "  cluster        1 x 1 x 1\n"
            "  registers      32 per thread\n"
            "  spills         16 B of local memory per thread\n"
            "  shared memory  0 B requested per block (0 static + 0 dynamic), 0 B executed\n"
            "  occupancy      100.0 % in theory: 64 of 64 warps, 8 blocks per multiprocessor; limited by "
            "registers, warps\n"
            "\n"
            "void gemm<4>(int)\n"
            "  launches       3, 2.00 us each on average\n"
            "  start, end     first start 0.010 ms, last end 0.033 ms after the start of the trace\n"
            "  delays         queued 750 ns before the start, submitted not known\n"
            "  stream         stream 7, stream 9 of rank 1\n"
            "  grid           128 x 2 x 1: 256 blocks\n"
            "  block          128 x 1 x 1: 128 threads, 4 warps\n"
            "  cluster        1 x 1 x 1\n"
            "  registers      168 per thread\n"
            "  spills         none\n"
            "  shared memory  1,024 B requested per block (24 static + 1,000 dynamic), 2,048 B executed\n"
            "  occupancy      18.8 % in theory: 12 of 64 warps, 3 blocks per multiprocessor; limited by "
            "registers\n");
}

TEST(ProfileCard, SheetHasTheSameFacts) {
  const Sheet sheet = card_sheet(launch_cards(card_trace(), "gemm", {}));
  ASSERT_EQ(sheet.rows(), 2u);
  EXPECT_EQ(sheet.at(1, "name"), Cell("void gemm<4>(int)"));
  EXPECT_EQ(sheet.at(1, "launches"), Cell(std::int64_t{3}));
  EXPECT_EQ(sheet.at(1, "grid"), Cell("128 x 2 x 1"));
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(1, "queued_us")), 0.75);
  EXPECT_EQ(sheet.at(1, "submitted_us"), Cell());
  EXPECT_EQ(sheet.at(1, "executed_shared_bytes"), Cell(std::int64_t{2048}));
  EXPECT_EQ(sheet.at(1, "occupancy_percent"), Cell()) << "the limits of the GPU are not known";
  EXPECT_EQ(sheet.at(0, "local_bytes"), Cell(std::int64_t{16}));
}

std::string card_complaint(const Trace& trace, const std::string& kernel) {
  try {
    launch_cards(trace, kernel, {});
  } catch (const Error& error) {
    return fmt::format("{} | {}", error.what(), error.hint());
  }
  return "";
}

TEST(ProfileCard, UnknownNamesAreRejectedWithNearOnes) {
  EXPECT_EQ(card_complaint(card_trace(), "gelo"),
            "`card` is 'gelo'; no such kernel ran | did you mean 'gelu'?");
  EXPECT_EQ(card_complaint(card_trace(), "ge"),
            "`card` is 'ge', which is a part of 2 kernel names | name one of 'gelu', 'gemm<4>'");
  EXPECT_NE(card_complaint(card_trace(), "before"), "") << "not in the window";
  EXPECT_NE(card_complaint(card_trace(), ""), "");
  EXPECT_EQ(card_complaint({}, "gelu"),
            "`card` is 'gelu', but no GPU kernel was recorded | profile a run on a GPU: `device` cuda");
}

}  // namespace
}  // namespace headroom
