#include "profile/counted_work.h"

#include <gtest/gtest.h>

#include "device/device.h"
#include "profile/gpu_counter_recorder.h"
#include "profile/testing/fake_ranges.h"

namespace headroom {
namespace {

CountedWork all_operations(double each) {
  CountedWork counted;
  for (const std::string& name : operation_counters()) counted.counters["1:" + name] = each;
  return counted;
}

TEST(CountedWorks, AMultiplyAddIsTwoFlops) {
  const std::vector<std::string> names = operation_counters();
  ASSERT_EQ(names.size(), 11u) << "six of threads, five types of tensor cores";
  CountedWork counted = all_operations(1);
  EXPECT_EQ(counted.flops(), 11 + 2.0) << "fp32-fma and fp64-fma count twice";
  counted.counters.at("1:tensor-bf16") = 1000;
  EXPECT_EQ(counted.flops(), 1000 + 12.0);
}

TEST(CountedWorks, ASumOfSomeOperationsIsNone) {
  CountedWork counted = all_operations(1);
  counted.counters.erase("1:tensor-fp16");
  EXPECT_FALSE(counted.flops().has_value());
  EXPECT_FALSE(counted.dram_bytes().has_value());
  counted.counters["2:dram-read"] = 5;
  EXPECT_FALSE(counted.dram_bytes().has_value()) << "without what is written";
  counted.counters["2:dram-write"] = 6;
  EXPECT_EQ(counted.dram_bytes(), 11);
}

TEST(CountedWorks, L2IsWhatMultiprocessorsAskFor) {
  CountedWork counted;
  counted.counters["1:l2-bytes"] = 100;
  EXPECT_EQ(counted.l2_bytes(), 100);
  counted.counters["1:l2-sectors"] = 2;
  EXPECT_EQ(counted.l2_bytes(), 64);
}

TEST(CountedWorks, WholeTilesAreExecuted) {
  const KernelLaunch plain{.flops = 100}, shared{.flops = 100, .useful = 0.5};
  EXPECT_EQ(executed_flops(plain), 100);
  EXPECT_EQ(executed_flops(shared), 200);
  EXPECT_EQ(executed_flops(KernelLaunch{.flops = 100, .useful = 0.5, .executed = 620}), 620);
  KernelLaunch tiles{.flops = 100, .extent = {64, 100, 8}, .tile = {64, 64, 32}};
  EXPECT_DOUBLE_EQ(executed_flops(tiles), 100 * (128.0 / 100) * (32.0 / 8));
  tiles.tile.k = 0;  // unknown
  EXPECT_DOUBLE_EQ(executed_flops(tiles), 128);
  const Work work{{tiles, plain}};
  EXPECT_DOUBLE_EQ(executed_flops(work), 228);
  EXPECT_EQ(l2_bytes(Work{{{.bytes = 7}, {.bytes = 7, .l2_bytes = 30}}}), 37);
}

TEST(CountedWorks, EachRunIsARangeOfEveryPass) {
  const auto device = open_device("cpu");
  Step relu;
  relu.problem.op = "relu";
  relu.work.launches = {{.flops = 6, .bytes = 8}};
  std::string ran, log;
  const CountedRun runs[] = {{&relu, [&] { ran += "a"; }}, {&relu, [&] { ran += "b"; }}};
  GpuCounterRecorder counts(
      plan_of_runs(runs),
      std::make_unique<testing::FakeRanges>(
          CounterPasses{.chip = "chip", .passes = {{{"cycles"}, {"x"}, 1}, {{"branches"}, {"y"}, 2}}}, log));
  const std::vector<CountedWork> counted = count_runs(counts, device->stream(), runs);
  EXPECT_EQ(ran, "ababab") << "one pass, and one that takes two runs";
  EXPECT_EQ(log, "[0:2(0.1.)][1:2(0.1.)(0.1.)]");
  ASSERT_EQ(counted.size(), 2u);
  EXPECT_EQ(counted[1].counter("cycles"), 101);
  EXPECT_EQ(counted[1].counter("branches"), 201);
  EXPECT_EQ(counted[0].counter("flops"), 6) << "the plan's own";
}

TEST(CountedWorks, NothingRunsWhereNobodyMayCount) {
  const auto device = open_device("cpu");
  Step relu;
  relu.problem.op = "relu";
  bool ran = false;
  const CountedRun runs[] = {{&relu, [&] { ran = true; }}};
  GpuCounterRecorder counts(plan_of_runs(runs), nullptr, "this user may not count");
  EXPECT_TRUE(count_runs(counts, device->stream(), runs).at(0).counters.empty());
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace headroom
