#include "profile/step_timer.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <time.h>

#include "base/units.h"
#include "profile/resources.h"

namespace headroom {
namespace {

Device& cpu() {
  static const auto device = open_device("cpu", 1);
  return *device;
}

// Processor time of this thread, so that an interruption does not shorten the work.
double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void work_for(double seconds) {
  const double start = thread_seconds();
  while (thread_seconds() - start < seconds) {
  }
}

// The min of many samples: an interruption can only lengthen one.
TEST(TimingStepTimer, MeasuresWorkOfKnownLength) {
  StepTimer timer(cpu(), 2, 25);
  for (int run = 0; run < 25; ++run)
    for (std::size_t step : {0, 1}) {
      timer.begin(step, cpu().stream());
      work_for(step == 0 ? 2e-3 : 0.5e-3);
      timer.end(step, cpu().stream());
    }
  EXPECT_NEAR(spread_of(timer.samples(0)).min, 2e-3, 0.2 * 2e-3);
  EXPECT_NEAR(spread_of(timer.samples(1)).min, 0.5e-3, 0.2 * 0.5e-3);
}

TEST(TimingStepTimer, CostsLessThanAMicrosecond) {
  EXPECT_LT(timer_overhead_seconds(), 1e-6);
  EXPECT_GE(timer_overhead_seconds(), 0);
}

// Each step has its own ring. With one counter for all, four steps would overwrite two of their eight places
// again and again and keep the oldest samples forever.
TEST(StepTimer, OverwritesTheOldestOfEachStep) {
  constexpr std::size_t kSteps = 4, kRuns = 8;
  StepTimer timer(cpu(), kSteps, kRuns);
  auto run = [&] {
    for (std::size_t step = 0; step < kSteps; ++step) {
      timer.begin(step, cpu().stream());
      timer.end(step, cpu().stream());
    }
  };
  for (std::size_t i = 0; i < kRuns; ++i) run();
  // Marks every place, then runs as often again: no mark may remain.
  constexpr double kMark = -1;
  for (std::size_t step = 0; step < kSteps; ++step)
    for (const double& sample : timer.samples(step)) const_cast<double&>(sample) = kMark;
  for (std::size_t i = 0; i < kRuns; ++i) {
    for (std::size_t step = 0; step < kSteps; ++step)
      EXPECT_EQ(timer.samples(step)[i], kMark) << "run " << i << " wrote a later place first";
    run();
    for (std::size_t step = 0; step < kSteps; ++step) EXPECT_GE(timer.samples(step)[i], 0) << step;
  }
  for (std::size_t step = 0; step < kSteps; ++step) EXPECT_EQ(timer.samples(step).size(), kRuns);
}

TEST(StepTimer, KeepsNothingWhereThereIsNoRoom) {
  StepTimer timer(cpu(), 1, 0);
  timer.begin(0, cpu().stream());
  timer.end(0, cpu().stream());
  EXPECT_TRUE(timer.samples(0).empty());
}

TEST(Resources, GrowWithTheProcess) {
  const Resources before = process_resources();
  work_for(20e-3);
  const Resources after = process_resources();
  EXPECT_GE(after.user_s + after.system_s, before.user_s + before.system_s + 10e-3);
  EXPECT_GT(after.peak_rss_bytes, 1 << 20) << "bytes, not kilobytes";
}

TEST(StepTimer, ItsOwnCostLeavesTheThreadsAlone) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_GT(timer_overhead_seconds(), 0);
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace headroom
