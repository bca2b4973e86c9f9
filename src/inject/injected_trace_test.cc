#include "inject/injected_trace.h"

#include <gtest/gtest.h>

#include <map>

#include "base/testing/bad_input.h"
#include "inject/process_file.h"
#include "inject/testing/recorded_training.h"

namespace headroom::inject {
namespace {

using testing::FakeProcess;
using testing::training_step;

std::map<std::string, std::string> ranges_of_kernels(const Trace& trace) {
  std::map<std::string, std::string> ranges;
  for (const Trace::Kernel& kernel : trace.kernels)
    ranges[trace.text(kernel.name)] = kernel.range < 0 ? "" : trace.text(kernel.range);
  return ranges;
}

TEST(InjectedTrace, HasNamesTimesAndLanes) {
  FakeProcess process;
  training_step(process);
  const Trace trace = trace_of({process.finish()});
  ASSERT_EQ(trace.kernels.size(), 3u);
  const Trace::Kernel& kernel = trace.kernels[0];
  EXPECT_EQ(trace.text(kernel.name), "forward(float*)");
  EXPECT_EQ(kernel.end_ns - kernel.begin_ns, 20'000);
  EXPECT_EQ(kernel.grid, (std::array{8, 1, 1}));
  EXPECT_EQ(kernel.block, (std::array{128, 1, 1}));
  EXPECT_EQ(kernel.registers, 32);
  EXPECT_EQ(trace.lanes[std::size_t(kernel.lane)], (Trace::Lane{"stream 7", true, -1, 0}));
  ASSERT_EQ(trace.copies.size(), 1u);
  EXPECT_EQ(trace.copies[0].bytes, 4096);
  ASSERT_EQ(trace.calls.size(), 4u);
  EXPECT_EQ(trace.calls[0].begin_ns, 0) << "the clock starts with the first event";
  EXPECT_EQ(trace.text(trace.calls[0].name), "cudaMemcpyAsync");
  EXPECT_EQ(trace.lanes[std::size_t(trace.calls[0].lane)], (Trace::Lane{"main", false, -1, 100}));
}

TEST(InjectedTrace, RangesAreNestedSpans) {
  FakeProcess process;
  training_step(process);
  const Trace trace = trace_of({process.finish()});
  ASSERT_EQ(trace.spans.size(), 2u);
  EXPECT_EQ(trace.text(trace.spans[0].name), "step") << "an outer span before its inner ones";
  EXPECT_EQ(trace.spans[0].depth, 0);
  EXPECT_EQ(trace.text(trace.spans[1].name), "forward");
  EXPECT_EQ(trace.spans[1].depth, 1);
}

TEST(InjectedTrace, RangesNameTheKernelsTheyLaunch) {
  FakeProcess process;
  training_step(process);
  process.kernel("_Z5otherPf", 5);
  EXPECT_EQ(ranges_of_kernels(trace_of({process.finish()})),
            (std::map<std::string, std::string>{{"forward(float*)", "step > forward"},
                                                {"backward(float*)", "step"},
                                                {"update(float*)", "step"},
                                                {"other(float*)", ""}}));
}

// The range around the launch of a graph says nothing about its nodes.
TEST(InjectedTrace, RangesNameKernelsOfGraphsByTheirNodes) {
  FakeProcess process;
  process.aggregator().node_created(1, "capture > forward");
  process.aggregator().node_cloned(11, 1);
  const std::int64_t begin = process.now_ns();
  process.graph_launch();
  process.kernel("_Z7forwardPf", 10, 11);
  process.kernel("_Z5otherPf", 10, 12);
  process.range("replay", begin);
  EXPECT_EQ(
      ranges_of_kernels(trace_of({process.finish()})),
      (std::map<std::string, std::string>{{"forward(float*)", "capture > forward"}, {"other(float*)", ""}}));
}

TEST(InjectedTrace, ProcessesShareAClock) {
  FakeProcess first({}, 10, 0), second({}, 11, 1);
  first.kernel("a", 10);
  second.kernel("a", 10);
  first.aggregator().header().clock_to_epoch_ns = 1'000'000;
  second.aggregator().header().clock_to_epoch_ns = 1'500'000;
  const std::vector<ProcessRecord> processes = {first.finish(), second.finish()};
  const Trace trace = trace_of(processes);
  ASSERT_EQ(trace.kernels.size(), 2u);
  EXPECT_EQ(trace.kernels[1].begin_ns - trace.kernels[0].begin_ns, 500'000);
  EXPECT_EQ(trace.lanes[std::size_t(trace.kernels[1].lane)].rank, 1);
  EXPECT_EQ(origin_of(processes), 2'000'000);
}

TEST(InjectedTrace, ProcessesWithoutRanksAreNumberedInOrder) {
  const headroom::testing::TemporaryFolder folder;
  for (const int i : {3, 1, 2}) {
    FakeProcess process({}, 10 * i, i == 3 ? 0 : -1);  // one of them calls itself a rank
    process.pause(100 * i);
    process.kernel("a", 10);
    process.aggregator().write(folder.path() / (std::to_string(i) + ".process"));
  }
  const std::vector<ProcessRecord> processes = read_processes(folder.path());
  ASSERT_EQ(processes.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(processes[std::size_t(i)].header.rank, i);
  EXPECT_EQ(processes[0].header.pid, 10);
  EXPECT_EQ(processes[2].header.pid, 30);
}

}  // namespace
}  // namespace headroom::inject
