#include "inject/aggregator.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/testing/bad_input.h"
#include "inject/process_file.h"
#include "inject/testing/recorded_training.h"

namespace headroom::inject {
namespace {

using headroom::testing::TemporaryFolder;
using testing::FakeProcess;

std::int64_t resident_bytes() {
  const std::string text = read_file("/proc/self/statm");
  return std::stoll(text.substr(text.find(' ') + 1)) * 4096;
}

Aggregator::StreamWork work_at(std::int64_t begin_ns, std::int64_t end_ns) {
  Aggregator::StreamWork work;
  work.begin_ns = begin_ns, work.end_ns = end_ns;
  return work;
}

// As a training would send them: 200 kernels in 500 shapes, with their calls.
void feed(Aggregator& aggregator, std::int64_t records) {
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i)
    names.push_back("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15FillFunctor" + std::to_string(i));
  for (std::int64_t i = 0; i < records / 2; ++i) {
    const auto correlation = static_cast<std::uint32_t>(i + 1);
    aggregator.call("cudaLaunchKernel_v7000", false, 1, correlation, {1000 * i + 1, 1000 * i + 400});
    Aggregator::StreamWork work = work_at(1000 * i + 500, 1000 * i + 900);
    work.correlation = correlation, work.stream = 7;
    aggregator.kernel(names[std::size_t(i % 200)], {.grid = {std::int32_t(i % 500), 1, 1}}, work);
  }
}

TEST(Aggregator, TotalsAreOfTheWholeRun) {
  FakeProcess process({.first = true, .max_events = 3});
  for (int i = 0; i < 10; ++i) process.kernel("k", 10 + i);
  const ProcessRecord r = process.finish();
  EXPECT_EQ(r.events.size(), 3u);
  EXPECT_EQ(r.header.recorded, 20);
  EXPECT_EQ(r.header.left_out, 17);
  for (std::size_t i = 0; i < r.whats.size(); ++i) {
    EXPECT_EQ(r.totals[i].count, 10);
    if (r.whats[i].kind != Kind::kernel) continue;
    EXPECT_EQ(r.totals[i].total_ns, 145'000);
    EXPECT_EQ(r.totals[i].min_ns, 10'000);
    EXPECT_EQ(r.totals[i].max_ns, 19'000);
  }
}

TEST(Aggregator, TheWindowHoldsTheLastEvents) {
  Aggregator aggregator({.max_events = 10'000});
  feed(aggregator, 100'000);
  const ProcessRecord r = aggregator.record();
  EXPECT_GE(r.events.size(), 10'000u);
  EXPECT_LT(r.events.size(), 10'000u + 4096u) << "events leave in blocks";
  EXPECT_EQ(r.header.left_out + std::int64_t(r.events.size()), 100'000);
  EXPECT_EQ(r.events.back().correlation, 50'000u);
}

TEST(Aggregator, AWindowCanBeATime) {
  Aggregator first({.first = true, .max_ns = 1'000'000}), last({.max_ns = 10'000'000});
  feed(first, 100'000);
  feed(last, 100'000);
  for (const Event& event : first.record().events) EXPECT_LE(event.begin_ns, 1'000'001);
  EXPECT_EQ(first.record().events.size(), 2001u);
  const ProcessRecord r = last.record();
  EXPECT_GE(r.events.size(), 20'000u);
  EXPECT_LT(r.events.size(), 20'000u + 2 * 4096u);
}

TEST(Aggregator, CountsRecordsWithoutATime) {
  Aggregator aggregator;
  aggregator.kernel("k", {}, work_at(0, 0));
  aggregator.kernel("k", {}, work_at(100, 0));
  aggregator.kernel("k", {}, work_at(100, 200));
  const ProcessRecord r = aggregator.record();
  EXPECT_EQ(r.header.untimed, 2);
  EXPECT_EQ(r.header.recorded, 3);
  ASSERT_EQ(r.totals.size(), 1u);
  EXPECT_EQ(r.totals[0].untimed, 2);
  EXPECT_EQ(r.totals[0].count, 1);
  EXPECT_EQ(r.events.size(), 1u);
}

// In either order: records arrive when buffers are full.
TEST(Aggregator, ACallOfTheDriverInsideOneOfTheRuntimeIsOneCall) {
  Aggregator aggregator;
  aggregator.call("cuLaunchKernel", true, 1, 5, {110, 120});
  aggregator.call("cudaLaunchKernel_v7000", false, 1, 5, {100, 130});
  aggregator.call("cudaLaunchKernel_v7000", false, 1, 6, {200, 230});
  aggregator.call("cuLaunchKernel", true, 1, 6, {210, 220});
  aggregator.call("cuLaunchKernel", true, 1, 7, {300, 320});  // by itself, as compiled Python does
  aggregator.call("cuStreamSynchronize", true, 1, 8, {400, 420});
  aggregator.finish();
  const ProcessRecord r = aggregator.record();
  std::vector<std::uint32_t> seen;
  for (const Event& event : r.events) seen.push_back(event.correlation);
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{5, 6, 7, 8}));
  EXPECT_EQ(r.header.recorded, 4);
}

TEST(Aggregator, NodesOfAGraphKeepTheirRange) {
  Aggregator aggregator;
  aggregator.node_created(1, "step > forward");
  aggregator.node_created(2, "");
  aggregator.node_cloned(11, 1);
  aggregator.node_cloned(12, 2);
  for (const std::uint64_t node : {11, 12}) {
    Aggregator::StreamWork work = work_at(100, 200);
    work.graph_node = node;
    aggregator.kernel("k", {}, work);
  }
  const ProcessRecord r = aggregator.record();
  ASSERT_EQ(r.events.size(), 2u);
  ASSERT_GT(r.events[0].range, 0u);
  EXPECT_EQ(r.names[r.events[0].range - 1], "step > forward");
  EXPECT_EQ(r.events[1].range, 0u);
}

TEST(Aggregator, ManyShapesOfAKernelTakeBoundedRoom) {
  Aggregator aggregator({.max_events = 1000});
  for (std::int32_t i = 0; i < 100'000; ++i)
    aggregator.kernel("k", {.grid = {i, 1, 1}}, work_at(100 + i, 200 + i));
  const ProcessRecord r = aggregator.record();
  EXPECT_LE(r.whats.size(), (1u << 16) + 1);
  std::int64_t count = 0;
  for (const Total& total : r.totals) count += total.count;
  EXPECT_EQ(count, 100'000);
}

TEST(Aggregator, AFileGivesBackEverything) {
  const TemporaryFolder folder;
  FakeProcess process({}, 42, 3);
  for (int i = 0; i < 5; ++i) testing::training_step(process);
  process.aggregator().note("a note");
  const ProcessRecord r = process.finish();
  const std::string path = folder.path() / "x.process";
  ASSERT_TRUE(process.aggregator().write(path));
  EXPECT_EQ(read_process(path), r);
  EXPECT_EQ(r.header.finished, 1u);
  const std::string bytes = read_file(path);
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, bytes.size() / 2, bytes.size() - 1}) {
    write_file(path, bytes.substr(0, size));
    EXPECT_THROW(read_process(path), Error) << size;
  }
  write_file(path, bytes + "x");
  EXPECT_THROW(read_process(path), Error);
  EXPECT_FALSE(process.aggregator().write(folder.path() / "missing" / "x.process"));
}

TEST(Aggregator, TheRuleOfTheWindowSurvivesTheEnvironment) {
  const WindowRule rule{.first = true, .max_events = 12345, .max_ns = 20'000'000'000};
  EXPECT_EQ(window_rule(to_text(rule).c_str()), rule);
  EXPECT_EQ(window_rule(to_text({}).c_str()), WindowRule{});
  EXPECT_EQ(window_rule(nullptr), WindowRule{});
  EXPECT_EQ(window_rule("nonsense"), WindowRule{});
}

TEST(Aggregator, MemoryStaysBounded) {
  Aggregator aggregator;
  feed(aggregator, 900'000);
  const std::int64_t before = resident_bytes();
  feed(aggregator, 1'000'000);
  EXPECT_LT(resident_bytes() - before, std::int64_t{16} << 20) << "the window was full already";
}

TEST(Aggregator, GraphsAsAWholeAreNumbered) {
  Aggregator aggregator;
  for (const std::uint32_t id : {40u, 7u, 40u}) aggregator.graph(id, work_at(100, 200));
  for (std::uint32_t id = 100; id < 300; ++id) aggregator.graph(id, work_at(100, 200));
  const ProcessRecord r = aggregator.record();
  EXPECT_EQ(r.names[0], "(graph 1)");
  EXPECT_EQ(r.names[1], "(graph 2)");
  EXPECT_EQ(r.names.back(), "(graph)") << "the others share a name";
  EXPECT_EQ(r.names.size(), 65u);
  EXPECT_EQ(r.totals[0].count, 2);
  EXPECT_NE(r.events[0].graph_node, 0u);
}

// A library may be unloaded, and another text lie where a kernel's name was.
TEST(Aggregator, AnAddressIsNoName) {
  Aggregator aggregator;
  std::string text = "first";
  for (int i = 0; i < 3; ++i) aggregator.kernel(text, {}, work_at(100, 200));
  text = "other";
  aggregator.kernel(text, {}, work_at(100, 200));
  const ProcessRecord r = aggregator.record();
  EXPECT_EQ(r.names, (std::vector<std::string>{"first", "other"}));
  EXPECT_EQ(r.totals[0].count, 3);
  EXPECT_EQ(r.totals[1].count, 1);
}

// As two records that fall on one place of a cache would be, were they mixed up.
TEST(Aggregator, SizesAreNeverMixedUp) {
  Aggregator aggregator;
  for (int round = 0; round < 2; ++round)
    for (std::int32_t i = 0; i < 20'000; ++i)
      aggregator.kernel("k", {.grid = {i, 1, 1}, .block = {1, i % 3 + 1, 1}}, work_at(100 + i, 200 + i));
  const ProcessRecord r = aggregator.record();
  ASSERT_EQ(r.whats.size(), 20'000u);
  for (std::size_t i = 0; i < r.whats.size(); ++i) {
    ASSERT_EQ(r.whats[i].grid[0], std::int32_t(i));
    ASSERT_EQ(r.totals[i].count, 2);
  }
}

// What is written is what there was when it was taken.
TEST(Aggregator, ASnapshotStaysAsItWas) {
  Aggregator aggregator;
  feed(aggregator, 10'000);
  const ProcessRecord before = aggregator.record();
  const Aggregator::Snapshot snapshot = aggregator.snapshot();
  feed(aggregator, 1'000'000);
  const TemporaryFolder folder;
  const std::string path = folder.path() / "x.process";
  ASSERT_TRUE(snapshot.write(path));
  EXPECT_EQ(read_process(path), before);
}

// Takes seconds: run it with --gtest_also_run_disabled_tests.
TEST(Aggregator, DISABLED_TwentyMillionRecords) {
  const std::int64_t before = resident_bytes();
  rusage begin{}, end{};
  ::getrusage(RUSAGE_SELF, &begin);
  Aggregator aggregator;
  feed(aggregator, 20'000'000);
  ::getrusage(RUSAGE_SELF, &end);
  const double cpu_s = double(end.ru_utime.tv_sec - begin.ru_utime.tv_sec) +
                       1e-6 * double(end.ru_utime.tv_usec - begin.ru_utime.tv_usec);
  const std::int64_t bytes = resident_bytes() - before;
  std::cout << "20 million records: " << bytes / (1 << 20) << " MiB more, " << cpu_s << " s of CPU time\n";
  EXPECT_LT(bytes, std::int64_t{300} << 20);
}

TEST(Aggregator, CountsAreWrittenAndRead) {
  Aggregator aggregator;
  aggregator.set_counters({"1:launches", "1:cycles", "2:launches"});
  aggregator.count("a", "step", {.grid = {4, 1, 1}}, 0, std::vector<double>{1, 10});
  aggregator.count("a", "step", {.grid = {4, 1, 1}}, 0, std::vector<double>{1, 20});
  aggregator.count("a", "step", {.grid = {4, 1, 1}}, 2, std::vector<double>{1});
  aggregator.count("a", "", {.grid = {8, 1, 1}}, 2, std::vector<double>{1});
  aggregator.header().counting.warp_slots = 64;
  const TemporaryFolder folder;
  const std::string path = folder.path() / "x.process";
  ASSERT_TRUE(aggregator.write(path));
  const ProcessRecord read = read_process(path);
  EXPECT_EQ(read, aggregator.record());
  EXPECT_EQ(read.counts, (std::vector<double>{2, 30, 1, 0, 0, 1}));
  std::string bytes = read_file(path);
  for (std::size_t cut = 1; cut < bytes.size(); cut += 7) {
    write_file(path, bytes.substr(0, bytes.size() - cut));
    EXPECT_THROW(read_process(path), Error) << cut;
  }
}

TEST(Aggregator, CountsTakeBoundedMemory) {
  Aggregator aggregator;
  aggregator.set_counters({"1:launches"});
  constexpr int kSizes = 20'000, kKernels = 20'000;
  for (int i = 1; i <= kSizes; ++i)
    aggregator.count("a", "step", {.grid = {i, 1, 1}}, 0, std::vector<double>{1});
  for (int i = 0; i < kKernels; ++i)
    aggregator.count("k" + std::to_string(i), "", {.grid = {1, 1, 1}}, 0, std::vector<double>{1});
  const ProcessRecord r = aggregator.record();
  EXPECT_EQ(r.counted.size(), 1u << 14);
  double sum = 0;
  for (const double count : r.counts) sum += count;
  EXPECT_EQ(sum, kSizes + kKernels) << "every launch is counted somewhere";
  EXPECT_EQ(r.names[r.counted.back().name], "all others");
}

}  // namespace
}  // namespace headroom::inject
