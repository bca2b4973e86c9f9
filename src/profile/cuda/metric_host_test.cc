// The names and the passes of our counters, on chips that this machine need not have.
#include "profile/cuda/metric_host.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "profile/gpu_counting.h"
#include "profile/gpu_sampling.h"

namespace headroom {
namespace {

class MetricHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cupti_chips();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static CounterPasses split(const char* set, const char* chip) {
    return gpu_counter_passes(gpu_counters_named(set), chip);
  }
};

TEST_F(MetricHosts, EveryCounterHasAMetricOnEveryChip) {
  const std::map<std::string, std::vector<std::string>> lacks = {
      {"GH100", {}},
      {"GA100", {"tensor-fp8", "bulk-read", "bulk-write"}},
      {"AD102", {"bulk-read", "bulk-write"}}};
  for (const auto& [chip, expected] : lacks) {
    const MetricHost host(chip);
    std::vector<std::string> missing;
    for (const GpuCounter& counter : gpu_counters())
      if (std::ranges::none_of(counter.metrics, [&](const char* m) { return host.runs_of({m}) > 0; }))
        missing.emplace_back(counter.name);
    EXPECT_EQ(missing, expected) << chip;
  }
}

TEST_F(MetricHosts, TheSeedSetTakesTwoPasses) {
  for (const char* chip : {"GH100", "GA100", "AD102"})
    EXPECT_EQ(
        split("seed", chip).text(),
        "pass 1: time, cycles, instructions, issued, warp-cycles, global-loads, global-stores, atomics, "
        "reductions, dram-read, dram-write, l2-bytes; pass 2: branches, divergent-branches, "
        "sass-instructions, lane-instructions")
        << chip;
}

TEST_F(MetricHosts, SetsKeepTheirNumberOfPasses) {
  struct Expected {
    const char *set, *chip;
    int passes, steps;
  };
  for (const Expected& e : {Expected{"flops", "GH100", 7, 9},
                            {"flops", "GA100", 6, 7},
                            {"flops", "AD102", 7, 8},
                            {"memory", "GH100", 3, 3},
                            {"memory", "GA100", 2, 2},
                            {"memory", "AD102", 2, 2},
                            {"stalls", "GH100", 4, 4},
                            {"stalls", "GA100", 4, 4},
                            {"stalls", "AD102", 4, 4}}) {
    const CounterPasses split_on_chip = split(e.set, e.chip);
    EXPECT_EQ(std::ssize(split_on_chip.passes), e.passes) << e.set << " " << e.chip << split_on_chip.text();
    EXPECT_EQ(split_on_chip.runs(), e.steps) << e.set << " " << e.chip;
  }
}

TEST_F(MetricHosts, WrongNamesAreRejectedWithTheNearest) {
  const auto message = [](const std::string& metric, const char* chip) {
    try {
      gpu_counter_passes({metric}, chip);
    } catch (const Error& error) {
      return fmt::format("{} | {}", error.what(), error.hint());
    }
    return std::string();
  };
  EXPECT_EQ(message("dram__bytes_reed.sum", "GH100"),
            "GH100 has no metric 'dram__bytes_reed.sum' | did you mean 'dram__bytes_read'?");
  EXPECT_EQ(message("time", "GH10"), "CUPTI does not know a chip 'GH10' | did you mean 'GH100'?");
  EXPECT_EQ(message("dram__bytes_read.sum", "GH100"), "");
}

// A GPU samples in a single pass.
TEST_F(MetricHosts, WhatIsSampledFitsOnePass) {
  for (const char* chip : {"GH100", "GA100", "AD102", "GB100"}) {
    const MetricHost host(chip, {}, MetricUse::sampling);
    for (const std::string& metric : sampled_metrics())
      EXPECT_EQ(host.runs_of({metric}), 1) << chip << metric;
    EXPECT_EQ(host.runs_of(sampled_metrics()), 1) << chip;
  }
  const MetricHost sampled("GH100", {}, MetricUse::sampling), counted("GH100");
  EXPECT_EQ(sampled.runs_of({"smsp__inst_executed_op_global_ld.sum"}), 0) << "only ranges have it";
  EXPECT_EQ(counted.runs_of({"smsp__inst_executed_op_global_ld.sum"}), 1);
  EXPECT_GT(sampled.runs_of({"lts__throughput.avg.pct_of_peak_sustained_elapsed"}), 1);
}

TEST_F(MetricHosts, AskedTwiceItAnswersTheSame) {
  const MetricHost host("GH100");
  EXPECT_EQ(host.runs_of({"sm__cycles_active.sum"}), 1);
  EXPECT_EQ(host.runs_of({"sm__cycles_active.sum"}), 1);
  EXPECT_EQ(host.runs_of({"sm__cycles_active"}), 0) << "a sum must be named";
  EXPECT_FALSE(host.config_image({"sm__cycles_active.sum"}).empty());
}

}  // namespace
}  // namespace headroom
