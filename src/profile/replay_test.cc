#include "profile/replay.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using namespace testing;

constexpr std::int64_t kMicrosecond = 1000;
constexpr double kTolerance = 1e-12;  // seconds

void add_batch(Trace& t, std::int64_t begin_us, std::int64_t end_us) {
  add_span(t, 0, "batch", begin_us * kMicrosecond, end_us * kMicrosecond, 0, SpanKind::batch);
}

void add_steps(Trace& t, std::int64_t begin_us, std::int64_t end_us, int steps) {
  add_window(t, 0, begin_us * kMicrosecond, end_us * kMicrosecond);
  t.windows.back().steps = steps;
}

void expect_us(const Replay& replay, const ReplayChange& change, double us) {
  EXPECT_NEAR(replay.seconds(change), us * 1e-6, kTolerance);
}

auto kernels_named(const Trace& t, std::string_view name, double factor) {
  return [&t, name, factor](const Trace::Kernel& k) { return t.text(k.name) == name ? factor : 1; };
}

// Two batches of 75 us. Four calls of 10 us launch kernels of 4 us, which begin 12 us after their call.
Trace launch_bound() {
  Trace t{.lanes = {{"main"}, {"compute stream", true}}};
  std::int64_t correlation = 0;
  for (std::int64_t at : {0, 75}) {
    add_batch(t, at, at + 75);
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t call = at + 5 + 15 * i;
      add_call(t, 0, "cudaLaunchKernel", call * kMicrosecond, (call + 10) * kMicrosecond, ++correlation);
      add_kernel(t, 1, "k", (call + 12) * kMicrosecond, (call + 16) * kMicrosecond, correlation);
    }
    add_call(t, 0, "cudaStreamSynchronize", (at + 65) * kMicrosecond, (at + 70) * kMicrosecond);
  }
  add_steps(t, 0, 150, 2);
  return t;
}

TEST(Replay, OneLaunchPerBatchTakesTheLaunchesAway) {
  const Trace t = launch_bound();
  const Replay replay(t);
  EXPECT_EQ(replay.steps(), 2);
  EXPECT_NEAR(replay.measured_s(), 75e-6, kTolerance);
  expect_us(replay, {}, 75);
  // Kernels at 17, 22, 27 and 32 us: the call and the latency, then 4 us each and 1 us between two. The host
  // sees the end at 36, returns at 40 and works until 45.
  expect_us(replay, {.one_launch_per_batch = true}, 45);
  // Without waiting the host is through with the first batch at 25 and launches the second at 30: its kernels
  // begin at 42 and end at 61.
  expect_us(replay, {.no_synchronisation = true, .one_launch_per_batch = true}, 61.0 / 2);
  expect_us(replay, {.one_launch_per_batch = true, .graph_node_s = 0}, 42);
}

TEST(Replay, CheaperLaunchCallsHelpAsLongAsTheHostIsBehind) {
  const Trace t = launch_bound();
  const auto half = [&](const Trace::Call& c) { return t.text(c.name) == "cudaLaunchKernel" ? 0.5 : 1; };
  // Calls at 5, 15, 25, 35 us; the last kernel ends at 51, the host returns at 55 and works until 60.
  expect_us(Replay(t), {.call_factor = half}, 60);
}

TEST(Replay, AllCallsBetweenTheLaunchesOfABatchBelongToThem) {
  Trace t{.lanes = {{"main"}, {"compute stream", true}}};
  add_batch(t, 0, 60);
  add_call(t, 0, "cudaLaunchKernel", 0, 10 * kMicrosecond, 1);
  add_call(t, 0, "cudaEventRecord", 12 * kMicrosecond, 14 * kMicrosecond, 2);
  add_call(t, 0, "cudaMemcpyAsync", 16 * kMicrosecond, 20 * kMicrosecond, 3);
  add_call(t, 0, "cudaLaunchKernel", 22 * kMicrosecond, 30 * kMicrosecond, 4);
  add_kernel(t, 1, "a", 5 * kMicrosecond, 8 * kMicrosecond, 1);
  add_copy(t, 1, Trace::CopyKind::host_to_device, 8, 18 * kMicrosecond, 19 * kMicrosecond, 3);
  add_kernel(t, 1, "b", 27 * kMicrosecond, 30 * kMicrosecond, 4);
  add_steps(t, 0, 60, 1);
  // The event and the second launch are gone with the 2 us before each of them.
  expect_us(Replay(t), {.one_launch_per_batch = true}, 60 - 4 - 10);
}

// One launch of a graph on two streams: A, then B beside C, then D after both.
Trace two_streams() {
  Trace t{.lanes = {{"main"}, {"compute stream", true}, {"side stream", true}}};
  add_batch(t, 0, 65);
  add_call(t, 0, "cudaGraphLaunch", 0, 10 * kMicrosecond, 1);
  add_call(t, 0, "cudaStreamSynchronize", 15 * kMicrosecond, 63 * kMicrosecond, 2);
  add_kernel(t, 1, "A", 10 * kMicrosecond, 30 * kMicrosecond, 1);
  add_kernel(t, 2, "B", 31 * kMicrosecond, 51 * kMicrosecond, 1);
  add_kernel(t, 1, "C", 31 * kMicrosecond, 41 * kMicrosecond, 1);
  add_kernel(t, 1, "D", 52 * kMicrosecond, 60 * kMicrosecond, 1);
  for (Trace::Kernel& k : t.kernels) k.graph_node = 7;
  add_steps(t, 0, 65, 1);
  return t;
}

TEST(Replay, StreamsOfAGraphWaitForEachOther) {
  const Trace t = two_streams();
  const Replay replay(t);
  expect_us(replay, {}, 65);
  expect_us(replay, {.kernel_factor = kernels_named(t, "A", 2)}, 85);
  expect_us(replay, {.kernel_factor = kernels_named(t, "B", 2)}, 85);
  expect_us(replay, {.kernel_factor = kernels_named(t, "C", 2)}, 65);
  expect_us(replay, {.kernel_factor = kernels_named(t, "C", 3)}, 75);
  expect_us(replay, {.kernel_factor = kernels_named(t, "B", 0)}, 55);
  expect_us(replay, {.kernel_factor = kernels_named(t, "D", 0.5)}, 61);
}

TEST(Replay, OtherLaunchesThatHappenToFollowAreIndependent) {
  Trace t = two_streams();
  t.kernels[1].correlation = 9;  // B: nobody knows its launch
  expect_us(Replay(t), {.kernel_factor = kernels_named(t, "B", 1.5)}, 65);
}

// A batch is copied, waited for, and computed: 110 us.
Trace copy_first() {
  Trace t{.lanes = {{"main"}, {"compute stream", true}}};
  add_batch(t, 0, 110);
  add_call(t, 0, "cudaMemcpyAsync", 0, 5 * kMicrosecond, 1);
  add_call(t, 0, "cudaStreamSynchronize", 6 * kMicrosecond, 50 * kMicrosecond, 2);
  add_call(t, 0, "cudaGraphLaunch", 55 * kMicrosecond, 60 * kMicrosecond, 3);
  add_call(t, 0, "cudaStreamSynchronize", 62 * kMicrosecond, 108 * kMicrosecond, 4);
  add_copy(t, 1, Trace::CopyKind::host_to_device, 4'000'000, 8 * kMicrosecond, 48 * kMicrosecond, 1);
  add_kernel(t, 1, "k", 65 * kMicrosecond, 105 * kMicrosecond, 3);
  add_steps(t, 0, 110, 1);
  return t;
}

bool is_any(const Trace::Copy&) { return true; }

TEST(Replay, CopiesAtAnotherRateOrHidden) {
  const Trace t = copy_first();
  const Replay replay(t);
  const auto times = [](double factor) { return [factor](const Trace::Copy&) { return factor; }; };
  expect_us(replay, {}, 110);
  expect_us(replay, {.copy_factor = times(0.25)}, 80);
  // The first wait shrinks to the 2 us it takes after the copy, the launch comes at 13, the kernel ends
  // at 63.
  expect_us(replay, {.hidden = is_any}, 68);
  expect_us(replay, {.copy_factor = times(3), .hidden = is_any}, 120);
  // Nobody waits: the launch comes at 11 us, the kernel runs after the copy, from 49 us on.
  expect_us(replay, {.no_synchronisation = true}, 49 + 40);
}

TEST(Replay, AKernelWaitsForACopyOfAnotherStream) {
  Trace t = copy_first();
  t.lanes.push_back({"copy stream", true});
  t.copies[0].lane = 2, t.copies[0].begin_ns = 23 * kMicrosecond, t.copies[0].end_ns = 63 * kMicrosecond;
  t.calls[1].end_ns = 8 * kMicrosecond;  // waits for nothing
  // The kernel begins 2 us after the copy's end, but because of its launch. A copy that ends 20 us later
  // holds it up: it begins after the usual 1 us, at 84 us.
  expect_us(Replay(t), {}, 110);
  expect_us(Replay(t), {.copy_factor = [](const Trace::Copy&) { return 1.5; }}, 129);
  expect_us(Replay(t), {.copy_factor = [](const Trace::Copy&) { return 1.7; }, .hidden = is_any}, 110);
}

TEST(Replay, WaitingForAnEventIsWaitingForACopy) {
  Trace t{.lanes = {{"main"}, {"compute stream", true}, {"copy stream", true}}};
  add_batch(t, 0, 70);
  add_call(t, 0, "cudaGraphLaunch", 0, 2 * kMicrosecond, 1);
  add_call(t, 0, "cudaMemcpyAsync", 2 * kMicrosecond, 4 * kMicrosecond, 2);
  add_call(t, 0, "cudaEventSynchronize", 4 * kMicrosecond, 52 * kMicrosecond, 3);
  add_kernel(t, 1, "k", 5 * kMicrosecond, 51 * kMicrosecond, 1);
  add_copy(t, 2, Trace::CopyKind::host_to_device, 1000, 10 * kMicrosecond, 50 * kMicrosecond, 2);
  add_steps(t, 0, 70, 1);
  expect_us(Replay(t), {.kernel_factor = kernels_named(t, "k", 0.5)}, 70);
  expect_us(Replay(t), {.copy_factor = [](const Trace::Copy&) { return 0.5; }}, 51);  // the kernel's end
}

TEST(Replay, APageableCopyKeepsTheHost) {
  Trace t{.lanes = {{"main"}, {"compute stream", true}}};
  add_batch(t, 0, 60);
  add_call(t, 0, "cudaMemcpyAsync", 0, 50 * kMicrosecond, 1);
  add_copy(t, 1, Trace::CopyKind::host_to_device, 1000, 8 * kMicrosecond, 48 * kMicrosecond, 1).pinned =
      false;
  add_steps(t, 0, 60, 1);
  const auto half = [](const Trace::Copy&) { return 0.5; };
  expect_us(Replay(t), {.copy_factor = half}, 40);
  t.copies[0].pinned = true;  // then the call only queues it, and takes its time for other reasons
  expect_us(Replay(t), {.copy_factor = half}, 60);
}

// On a CPU: two batches, each waits 30 us for the loader and computes for 50.
Trace slow_loader() {
  Trace t{.lanes = {{"main"}, {"loader 1"}}};
  for (std::int64_t at : {0, 80}) {
    add_batch(t, at, at + 80);
    add_span(t, 0, "wait for the loader", at * kMicrosecond, (at + 30) * kMicrosecond, 1, SpanKind::wait);
    add_span(t, 0, "linear", (at + 30) * kMicrosecond, (at + 80) * kMicrosecond, 1, SpanKind::step);
  }
  add_steps(t, 0, 160, 2);
  return t;
}

TEST(Replay, ALoaderThatIsWaitedForSetsThePace) {
  const Trace t = slow_loader();
  const Replay replay(t);
  const auto half = [](const Trace::Span&) { return 0.5; };
  expect_us(replay, {}, 80);
  expect_us(replay, {.no_loader_waits = true}, 50);
  expect_us(replay, {.step_factor = half}, 135.0 / 2);  // the second batch is ready at 110 us, as before
  expect_us(replay, {.step_factor = half, .no_loader_waits = true}, 25);
  expect_us(replay, {.no_loader_waits = false, .loader_factor = 2}, 270.0 / 2);
}

TEST(Replay, WaitsForOtherRanksCanBeSkippedInPart) {
  Trace t{.lanes = {{"main"}, {"stream 7", true}}};
  add_batch(t, 0, 100);
  add_span(t, 0, "wait for other ranks", 50 * kMicrosecond, 90 * kMicrosecond, 1, SpanKind::wait);
  add_kernel(t, 1, "ncclDevKernel_AllReduce", 10 * kMicrosecond, 95 * kMicrosecond);
  add_steps(t, 0, 100, 1);
  const IntervalSet skipped({{50 * kMicrosecond, 80 * kMicrosecond}});
  expect_us(Replay(t), {}, 100);
  expect_us(Replay(t), {.skipped = skipped}, 70);
  t.kernels[0].name = t.name_id("gemm");
  expect_us(Replay(t), {.skipped = skipped}, 95);
  t.kernels.clear();  // on a CPU the exchange is a step
  add_span(t, 0, "all_reduce", 40 * kMicrosecond, 95 * kMicrosecond, 1, SpanKind::step);
  expect_us(Replay(t), {}, 100);
  expect_us(Replay(t), {.skipped = skipped}, 70);
  expect_us(Replay(t), {.step_factor = [](const Trace::Span&) { return 2.0; }}, 115);
}

TEST(Replay, CallsCanVanish) {
  Trace t = copy_first();
  add_call(t, 0, "cudaMalloc", 52 * kMicrosecond, 54 * kMicrosecond, 9);
  const auto without = [&](const Trace::Call& c) { return t.text(c.name) == "cudaMalloc" ? 0.0 : 1; };
  expect_us(Replay(t), {.call_factor = without}, 108);
}

TEST(Replay, WindowsAndRanksAreSeparate) {
  Trace t = launch_bound();
  t.windows[0].end_ns = 75 * kMicrosecond, t.windows[0].steps = 1;
  add_window(t, 0, 75 * kMicrosecond, 150 * kMicrosecond);
  add_window(t, 3, 0, 40 * kMicrosecond);
  expect_us(Replay(t), {}, 75);
  expect_us(Replay(t), {.no_synchronisation = true, .one_launch_per_batch = true}, 36);  // each by itself
  expect_us(Replay(t, 3), {}, 40);
  expect_us(Replay(t, 1), {}, 0);
}

}  // namespace
}  // namespace headroom
