// Counters of one run of a program beside the times of another.
#include "report/program_counters.h"

#include <gtest/gtest.h>

#include "inject/injected_trace.h"
#include "inject/launch_counter.h"
#include "inject/testing/recorded_training.h"
#include "report/ratio_diff.h"

namespace headroom {
namespace {

constexpr std::int32_t kBlocks = 8;  // as FakeProcess launches

// Two steps of 60 us: forward 20 us in a range, backward 30 us, update 10 us.
Trace traced_steps() {
  inject::testing::FakeProcess process({}, 100, 0);
  for (int i = 0; i < 2; ++i) inject::testing::training_step(process);
  Trace trace = inject::trace_of({process.finish()});
  trace.windows = {{{0, 1'000'000'000}, 0, 2, false}};
  return trace;
}

// Counts like the library: launches, then cycles, issued instructions and cycles of warps.
class FakeCounts {
 public:
  FakeCounts() {
    aggregator_.set_counters(
        {"1:launches", "1:cycles", "1:issued", "1:warp-cycles", "2:launches", "2:branches"});
    aggregator_.header().counting.warp_slots = 64;
  }
  void first(const char* kernel, const char* range, std::int32_t blocks, int launches, double cycles) {
    aggregator_.count(kernel, range, sized(blocks), 0,
                      std::vector<double>{double(launches), launches * cycles, launches * 2 * cycles,
                                          launches * 16 * cycles});
  }
  void second(const char* kernel, std::int32_t blocks, int launches, double branches) {
    aggregator_.count(kernel, "", sized(blocks), 4,
                      std::vector<double>{double(launches), launches * branches});
  }
  inject::ProcessRecord record() const { return aggregator_.record(); }
  inject::Aggregator& aggregator() { return aggregator_; }

 private:
  static inject::CountedKernel sized(std::int32_t blocks) {
    return {.grid = {blocks, 1, 1}, .block = {128, 1, 1}};
  }
  inject::Aggregator aggregator_;
};

const Counted& row_of(const CountedRows& rows, const std::string& name) {
  for (const auto& [row, counted] : rows)
    if (row == name) return counted;
  throw std::runtime_error("no row " + name);
}
bool says(const ProgramCounts& counts, const std::string& part) {
  for (const std::string& note : counts.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

TEST(ProgramCounters, AreOfAStepAndSortedByTime) {
  FakeCounts fake;
  fake.first("_Z7forwardPf", "step > forward", kBlocks, 50, 100);
  fake.first("_Z8backwardPf", "step", kBlocks, 50, 300);
  fake.first("_Z6updatePf", "step", kBlocks, 50, 10);
  fake.second("_Z7forwardPf", kBlocks, 3, 7);
  const ProgramCounts counts = program_counts(traced_steps(), {fake.record()});
  ASSERT_EQ(counts.kernels.size(), 3u);
  EXPECT_EQ(counts.kernels[0].first, "backward");
  const Counted forward = row_of(counts.kernels, "forward");
  EXPECT_DOUBLE_EQ(forward.counters.at("0:launches"), 1);
  EXPECT_DOUBLE_EQ(forward.counters.at("1:cycles"), 100) << "of one launch, however many were counted";
  EXPECT_DOUBLE_EQ(forward.counters.at("2:branches"), 7);
  EXPECT_FALSE(forward.counters.contains("1:launches"));
  EXPECT_DOUBLE_EQ(forward.seconds, 20e-6) << "of the first run";
  EXPECT_EQ(forward.warp_slots, 64);
  EXPECT_FALSE(row_of(counts.kernels, "update").counters.contains("2:branches")) << "not in that pass";
  ASSERT_EQ(counts.ranges.size(), 2u);
  EXPECT_EQ(counts.ranges[0].first, "step");
  EXPECT_DOUBLE_EQ(counts.ranges[0].second.counters.at("1:cycles"), 310);
  EXPECT_EQ(counts.ranges[1].first, "step > forward");
  EXPECT_TRUE(says(counts, "ran twice"));
  EXPECT_TRUE(says(counts, "pass 1: cycles, issued, warp-cycles; pass 2: branches"));
}

TEST(ProgramCounters, TheNearestLaunchesCount) {
  const auto cycles = [](const FakeCounts& fake) {
    return row_of(program_counts(traced_steps(), {fake.record()}).kernels, "forward").counters.at("1:cycles");
  };
  FakeCounts fake;
  fake.first("_Z7forwardPf", "elsewhere", 99, 3, 1000);
  EXPECT_DOUBLE_EQ(cycles(fake), 1000) << "the same kernel, if nothing is nearer";
  fake.first("_Z7forwardPf", "step > forward", 99, 1, 500);
  EXPECT_DOUBLE_EQ(cycles(fake), 500) << "the same range";
  fake.first("_Z7forwardPf", "elsewhere", kBlocks, 1, 50);
  EXPECT_DOUBLE_EQ(cycles(fake), 50) << "the same size";
  fake.first("_Z7forwardPf", "step > forward", kBlocks, 2, 5);
  EXPECT_DOUBLE_EQ(cycles(fake), 5) << "both";
}

TEST(ProgramCounters, KernelsOfGraphsAreOneRow) {
  inject::testing::FakeProcess process({}, 100, 0);
  for (int i = 0; i < 4; ++i) {
    process.graph_launch();
    process.kernel("_Z1aPf", 10, 5);
    process.kernel("_Z1bPf", 30, 6);
  }
  Trace trace = inject::trace_of({process.finish()});
  trace.windows = {{{0, 1'000'000'000}, 0, 2, false}};
  FakeCounts fake;
  fake.first(inject::kWholeGraph, "step", 0, 3, 700);
  fake.first("_Z1aPf", "warm-up", kBlocks, 3, 1);
  const ProgramCounts counts = program_counts(trace, {fake.record()});
  ASSERT_EQ(counts.kernels.size(), 1u);
  EXPECT_EQ(counts.kernels[0].first, inject::kWholeGraph);
  EXPECT_DOUBLE_EQ(counts.kernels[0].second.counters.at("1:cycles"), 1400) << "two launches in a step";
  EXPECT_DOUBLE_EQ(counts.kernels[0].second.seconds, 80e-6);
  EXPECT_TRUE(says(counts, "only as a whole"));
}

TEST(ProgramCounters, WhatIsMissingIsSaid) {
  FakeCounts fake;
  fake.first("_Z8backwardPf", "step", kBlocks, 50, 300);
  inject::CountingFacts& facts = fake.aggregator().header().counting;
  facts.launches = 5000, facts.counted = 1200, facts.windows = 4, facts.lost_windows = 1,
  facts.exchanges = 77;
  const ProgramCounts counts = program_counts(traced_steps(), {fake.record()});
  EXPECT_TRUE(says(counts, "Counted 1,200 of 5,000 launches, in 4 windows, of which 1 were left out."));
  EXPECT_TRUE(says(counts, "77 launches exchange data between processes"));
  EXPECT_TRUE(says(counts, "Kernels with 50.0 % of the kernel time have no counters."));
  inject::Aggregator refused;
  refused.note("no counters: this user may not profile the GPU");
  const ProgramCounts none = program_counts(traced_steps(), {refused.record()});
  EXPECT_TRUE(none.kernels.empty());
  EXPECT_TRUE(says(none, "this user may not profile"));
  EXPECT_TRUE(program_counter_sheets(none).empty());
  EXPECT_TRUE(says(program_counts(traced_steps(), {}), "used no CUDA"));
}

TEST(ProgramCounters, TablesAndComparisonsShowTheRatios) {
  FakeCounts fake;
  fake.first("_Z7forwardPf", "step > forward", kBlocks, 50, 100);
  fake.first("_Z8backwardPf", "step", kBlocks, 50, 300);
  const std::vector<Sheet> sheets = program_counter_sheets(program_counts(traced_steps(), {fake.record()}));
  ASSERT_EQ(sheets.size(), 3u);
  EXPECT_EQ(sheets[0].name(), "launch_counters");
  EXPECT_DOUBLE_EQ(std::get<double>(sheets[0].at(0, "warps_per_instruction")), 8);
  EXPECT_DOUBLE_EQ(std::get<double>(sheets[0].at(0, "occupancy_percent")), 25);
  EXPECT_EQ(sheets[1].name(), "layer_counters");
  EXPECT_EQ(sheets[2].name(), "tuning");
  EXPECT_DOUBLE_EQ(std::get<double>(sheets[2].at(0, "time_ms")), 0.03);
  RunRecord record;
  record.tables = sheets;
  const Sheet ratios = ratios_sheet({{"a", record}, {"b", record}});
  ASSERT_GT(ratios.rows(), 0u);
  EXPECT_EQ(std::get<std::string>(ratios.at(0, "kernel")), "backward");
  EXPECT_DOUBLE_EQ(std::get<double>(ratios.at(0, "b")), 8);
}

}  // namespace
}  // namespace headroom
