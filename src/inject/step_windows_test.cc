#include "inject/step_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inject/injected_trace.h"
#include "inject/testing/recorded_training.h"

namespace headroom::inject {
namespace {

using testing::FakeProcess;
using testing::training_step;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// 1000 us of other work, then steps.
Trace training(int steps) {
  FakeProcess process;
  process.kernel("_Z4fillPf", 500);
  process.kernel("_Z4scanPf", 500);
  for (int i = 0; i < steps; ++i) training_step(process);
  return trace_of({process.finish()});
}

TEST(StepWindows, StepsAreFoundByTheirLaunches) {
  Trace trace = training(30);
  const std::string words = set_step_windows(trace, {.max_steps = 20});
  EXPECT_TRUE(has(words, "the same 3 again and again, 30 steps")) << words;
  ASSERT_EQ(trace.windows.size(), 1u);
  EXPECT_EQ(trace.windows[0].steps, 20);
  EXPECT_FALSE(trace.windows[0].captured);
  // From the begin of one forward pass to that of another.
  std::vector<std::int64_t> forwards;
  for (const Trace::Kernel& kernel : trace.kernels)
    if (trace.text(kernel.name) == "forward(float*)") forwards.push_back(kernel.begin_ns);
  ASSERT_EQ(forwards.size(), 30u);
  EXPECT_EQ(trace.windows[0].begin_ns, forwards[9]);
  EXPECT_EQ(trace.windows[0].end_ns, forwards[29]);
}

TEST(StepWindows, FoundStepsAreSpansOfTheHost) {
  FakeProcess process;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t begin = process.now_ns();
    process.kernel("a", 10);
    process.range("forward", begin);
    process.kernel("b", 10);
    process.pause(50);
  }
  Trace trace = trace_of({process.finish()});
  set_step_windows(trace, {});
  int steps = 0;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (trace.spans[i].kind != SpanKind::batch) continue;
    ++steps;
    EXPECT_EQ(trace.spans[i].depth, 0);
    ASSERT_LT(i + 1, trace.spans.size());
    EXPECT_EQ(trace.text(trace.spans[i + 1].name), "forward");
    EXPECT_EQ(trace.spans[i + 1].depth, 1);
  }
  EXPECT_EQ(steps, 9) << "the last one has no end";
  Trace crossed = training(10);  // its own steps begin with a copy, before the first kernel
  set_step_windows(crossed, {});
  EXPECT_EQ(std::ranges::count(crossed.spans, SpanKind::batch, &Trace::Span::kind), 0);
}

TEST(StepWindows, ALaunchOfAGraphIsOneLaunch) {
  FakeProcess process;
  for (int i = 0; i < 12; ++i) {
    process.graph_launch();
    process.kernel("a", 10, 1);
    process.kernel("b", 10, 2);
    process.pause(20);
  }
  Trace trace = trace_of({process.finish()});
  const std::string words = set_step_windows(trace, {});
  EXPECT_TRUE(has(words, "the same one again and again, 12 steps")) << words;
  ASSERT_EQ(trace.windows.size(), 1u);
  EXPECT_EQ(trace.windows[0].steps, 11) << "the last one marks the end";
  EXPECT_TRUE(trace.windows[0].captured);
}

// A framework warms up kernel by kernel before it captures, and copies a batch before each launch of the
// graph.
TEST(StepWindows, TheCapturedStepCountsAndNotItsWarmUp) {
  const std::vector<std::string> kernels = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
  FakeProcess process;
  for (int i = 0; i < 10; ++i) {
    process.kernel("gather", 5);
    for (const std::string& name : kernels) process.kernel(name, 10);
    process.pause(20);
  }
  for (int i = 0; i < 30; ++i) {
    process.kernel("gather", 5);
    process.graph_launch();
    for (std::size_t k = 0; k < kernels.size(); ++k) process.kernel(kernels[k], 10, k + 1);
    process.pause(20);
  }
  Trace trace = trace_of({process.finish()});
  const std::string words = set_step_windows(trace, {.max_steps = 20});
  EXPECT_TRUE(has(words, "the same 2 again and again, 30 steps")) << words;
  ASSERT_EQ(trace.windows.size(), 1u);
  EXPECT_TRUE(trace.windows[0].captured);
}

TEST(StepWindows, ARangeCanBeTheStep) {
  Trace trace = training(6);
  EXPECT_EQ(set_step_windows(trace, {.range = "step", .max_steps = 4}), "A step is an NVTX range 'step'.");
  int steps = 0;
  for (const Trace::Window& window : trace.windows) steps += window.steps;
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(std::ranges::count(trace.spans, SpanKind::batch, &Trace::Span::kind), 4);
}

TEST(StepWindows, AMissingRangeDoesNotLoseTheProfile) {
  Trace trace = training(6);
  const std::string words = set_step_windows(trace, {.range = "stp"});
  EXPECT_TRUE(has(words, "no NVTX range 'stp' (did you mean 'step'?)")) << words;
  EXPECT_TRUE(has(words, "Steps were found by their launches")) << words;
  EXPECT_FALSE(trace.windows.empty());
}

TEST(StepWindows, WithoutStepsEverythingIsOne) {
  FakeProcess process;
  for (const char* name : {"a", "b", "c", "d"}) process.kernel(name, 10);
  Trace trace = trace_of({process.finish()});
  EXPECT_TRUE(has(set_step_windows(trace, {}), "No steps were found"));
  ASSERT_EQ(trace.windows.size(), 1u);
  EXPECT_EQ(trace.windows[0].steps, 1);
  EXPECT_EQ(trace.windows[0].begin_ns, 0);
  Trace empty;
  set_step_windows(empty, {});
  EXPECT_TRUE(empty.windows.empty());
}

TEST(StepWindows, EveryRankHasItsOwn) {
  std::vector<ProcessRecord> processes;
  for (const int rank : {0, 1}) {
    FakeProcess process({}, 100 + rank, rank);
    for (int i = 0; i < 8; ++i) training_step(process);
    processes.push_back(process.finish());
  }
  Trace trace = trace_of(processes);
  set_step_windows(trace, {});
  ASSERT_EQ(trace.windows.size(), 2u);
  EXPECT_EQ(trace.windows[0].rank, 0);
  EXPECT_EQ(trace.windows[1].rank, 1);
}

// A whole graph is one launch of unknown kernels: it must not lose against its warm-up kernel by kernel.
TEST(StepWindows, WholeGraphsAreTheStep) {
  constexpr int kWarmUp = 10, kKinds = 28;
  FakeProcess process;
  for (int i = 0; i < kWarmUp * kKinds; ++i) process.kernel("k" + std::to_string(i % kKinds), 5);
  const std::int64_t begin = process.now_ns();
  for (int i = 0; i < 30; ++i) process.whole_graph(70, 7), process.pause(10);
  process.range("epoch", begin);
  Trace trace = trace_of({process.finish()});
  const std::string words = set_step_windows(trace, {.max_steps = 20});
  EXPECT_TRUE(has(words, "the same one again and again, 30 steps")) << words;
  ASSERT_EQ(trace.windows.size(), 1u);
  EXPECT_TRUE(trace.windows[0].captured);
  const Trace::Kernel& graph = trace.kernels.back();
  EXPECT_EQ(trace.text(graph.name), "(graph 1)");
  EXPECT_TRUE(graph.whole_graph());
  ASSERT_GE(graph.range, 0) << "it belongs to the range around its launch";
  EXPECT_EQ(trace.text(graph.range), "epoch");
}

TEST(StepWindows, TwoWholeGraphsInTurnAreOneStep) {
  FakeProcess process;
  for (int i = 0; i < 30; ++i) process.whole_graph(40, 7), process.whole_graph(30, 9), process.pause(10);
  Trace trace = trace_of({process.finish()});
  EXPECT_TRUE(has(set_step_windows(trace, {.max_steps = 20}), "the same 2 again and again, 30 steps"));
}

}  // namespace
}  // namespace headroom::inject
