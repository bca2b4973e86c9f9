#include "profile/profiler.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using namespace testing;

constexpr std::int64_t kUs = 1000;

Trace two_batches() {
  Trace t;
  t.lanes = {{.name = "main"}, {.name = "compute stream", .is_stream = true}};
  add_window(t, 0, 0, 100 * kUs);
  t.windows[0].steps = 2;
  return t;
}

TEST(MeasuredSteps, KernelsOfAStepAddUpInEveryRun) {
  Trace t = two_batches();
  for (int run = 0; run < 2; ++run) {
    const std::int64_t at = (10 + 40 * run) * kUs;
    add_kernel(t, 1, "a", at, at + 3 * kUs).step = 0;
    add_kernel(t, 1, "b", at + 5 * kUs, at + (6 + run) * kUs).step = 0;
    add_kernel(t, 1, "c", at + 10 * kUs, at + 14 * kUs).step = 2;
  }
  add_kernel(t, 1, "a", 200 * kUs, 300 * kUs).step = 0;  // after the window
  add_kernel(t, 1, "feed", 95 * kUs, 96 * kUs);          // of no step
  const Measurement m = measured_steps(t, 3);
  EXPECT_EQ(m.source, Measurement::Source::kernel_trace);
  ASSERT_EQ(m.steps.size(), 3u);
  ASSERT_EQ(m.steps[0].seconds.size(), 2u);
  EXPECT_NEAR(m.steps[0].seconds[0], 4e-6, 1e-12);
  EXPECT_NEAR(m.steps[0].seconds[1], 5e-6, 1e-12);
  EXPECT_EQ(m.steps[0].launches.size(), 2u);
  EXPECT_EQ(m.steps[0].launches[1].name, "b");
  EXPECT_NEAR(m.steps[0].launches[0].begin_s, 0, 1e-12) << "since the first kernel of its run";
  EXPECT_EQ(m.steps[1].seconds, std::vector<double>{0}) << "a step that launched nothing";
  EXPECT_NEAR(m.median_s(2), 4e-6, 1e-12);
  EXPECT_EQ(m.run_s.size(), 1u) << "the host knows only the mean of a window";
  EXPECT_NEAR(m.run_s[0], 50e-6, 1e-12);
}

TEST(MeasuredSteps, OnACpuSpansCount) {
  Trace t = two_batches();
  for (int run = 0; run < 2; ++run) {
    const std::int64_t at = 50 * run * kUs;
    add_span(t, 0, "batch iteration", at, at + (40 + run) * kUs, 0, SpanKind::batch);
    add_span(t, 0, "relu", at + kUs, at + (2 + run) * kUs, 1, SpanKind::step).step = 0;
  }
  const Measurement m = measured_steps(t, 1);
  EXPECT_EQ(m.source, Measurement::Source::wall_clock);
  ASSERT_EQ(m.steps[0].seconds.size(), 2u);
  EXPECT_NEAR(m.steps[0].seconds[1], 2e-6, 1e-12);
  ASSERT_EQ(m.run_s.size(), 2u);
  EXPECT_NEAR(m.run_s[0], 40e-6, 1e-12);
  EXPECT_NEAR(m.run_s[1], 41e-6, 1e-12);
}

TEST(MeasuredSteps, OfARankAlone) {
  Trace t = two_batches();
  t.lanes.push_back({.name = "compute stream", .is_stream = true, .rank = 1});
  add_window(t, 1, 0, 100 * kUs);
  add_kernel(t, 1, "a", 0, 10 * kUs).step = 0;
  add_kernel(t, 1, "a", 20 * kUs, 30 * kUs).step = 0;
  add_kernel(t, 2, "a", 0, 70 * kUs).step = 0;
  EXPECT_NEAR(measured_steps(t, 1, 0).median_s(0), 10e-6, 1e-12);
  EXPECT_NEAR(measured_steps(t, 1, 1).median_s(0), 70e-6, 1e-12);
}

TEST(MeasuredSteps, WithoutAWindowThereIsNone) {
  Trace t;
  EXPECT_TRUE(measured_steps(t, 3).empty());
}

TEST(Profiler, ASpanCostsLittle) { EXPECT_LT(span_cost_s(), 5e-6); }

}  // namespace
}  // namespace headroom
