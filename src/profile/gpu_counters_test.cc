#include "profile/gpu_counters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace headroom {
namespace {

// A chip with room for `room` metrics at a time, or for any number of those counted by added instructions.
RunsOfMetrics chip_with_room(std::size_t room) {
  return [room](const std::vector<std::string>& metrics) {
    std::size_t added = 0;
    for (const std::string& metric : metrics) {
      if (metric.find("tma") != metric.npos) return 0;
      if (metric.find("_sass_") != metric.npos) ++added;
    }
    const std::size_t plain = metrics.size() - added;
    return static_cast<int>((plain + room - 1) / room + (added > 0 ? 1 : 0));
  };
}

std::string rejection_of(const std::string& request) {
  try {
    gpu_counters_named(request);
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return "";
}

TEST(GpuCounters, SetsAndCountersAreNamedTogether) {
  const std::vector<std::string> names = gpu_counters_named("fp32-fma,seed,cycles,dram__bytes.sum");
  EXPECT_EQ(names.front(), "fp32-fma");
  EXPECT_EQ(names.back(), "dram__bytes.sum") << "cycles are in the seed already";
  EXPECT_EQ(std::ranges::count(names, "cycles"), 1);
  EXPECT_EQ(rejection_of("cycle"), "GPUs have no counter 'cycle' | did you mean 'cycles'?");
  EXPECT_NE(rejection_of("seed,dram__bytes.avg").find("is not a sum"), std::string::npos);
}

TEST(GpuCounters, EverySetNamesKnownCounters) {
  for (const GpuCounterSet& set : gpu_counter_sets())
    for (const std::string& name : set.counters) {
      const auto it =
          std::ranges::find_if(gpu_counters(), [&](const GpuCounter& c) { return c.name == name; });
      EXPECT_NE(it, gpu_counters().end()) << set.name << ": " << name;
    }
  for (const GpuCounter& counter : gpu_counters())
    for (const char* other : counter.with) EXPECT_EQ(gpu_counters_named(other).size(), 1u) << counter.name;
}

// Both numbers of a ratio are of the same launches.
TEST(GpuCounters, APassHoldsWhatItsCountersAreComparedWith) {
  for (const std::size_t room : {3u, 4u, 6u, 20u})
    for (const GpuCounterSet& set : gpu_counter_sets()) {
      const CounterPasses split = split_into_passes(set.counters, "chip", chip_with_room(room));
      for (const std::string& name : set.counters) {
        if (std::ranges::find(split.missing, name) != split.missing.end()) continue;
        const auto known =
            std::ranges::find_if(gpu_counters(), [&](const GpuCounter& c) { return c.name == name; });
        EXPECT_TRUE(std::ranges::any_of(split.passes,
                                        [&](const CounterPass& pass) {
                                          const auto has = [&](const std::string& n) {
                                            return std::ranges::find(pass.counters, n) != pass.counters.end();
                                          };
                                          return has(name) && std::ranges::all_of(known->with, has);
                                        }))
            << name << " with room for " << room;
      }
      for (const CounterPass& pass : split.passes)
        EXPECT_EQ(chip_with_room(room)(pass.metrics), pass.runs) << split.text();
    }
}

TEST(GpuCounters, WhatDoesNotFitGoesToTheNextStep) {
  const CounterPasses one = split_into_passes({"cycles", "issued"}, "chip", chip_with_room(3));
  EXPECT_EQ(one.text(), "pass 1: cycles, issued");
  const CounterPasses two =
      split_into_passes({"cycles", "issued", "time", "dram-read", "branches"}, "chip", chip_with_room(3));
  EXPECT_EQ(two.text(), "pass 1: cycles, issued, time; pass 2: dram-read, time; pass 3: branches");
  EXPECT_EQ(two.runs(), 3);
  const CounterPasses narrow = split_into_passes({"global-loads"}, "chip", chip_with_room(1));
  EXPECT_EQ(narrow.runs(), 2) << "a pass that no chip could count at once takes two steps";
  const CounterPasses none = split_into_passes({"bulk-read", "time"}, "chip", chip_with_room(3));
  EXPECT_EQ(none.missing, std::vector<std::string>{"bulk-read"});
  EXPECT_EQ(none.passes.size(), 1u);
}

}  // namespace
}  // namespace headroom
