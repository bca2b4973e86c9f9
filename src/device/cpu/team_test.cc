#include "device/cpu/team.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <filesystem>
#include <thread>

namespace headroom {
namespace {

std::ptrdiff_t threads_of_process() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

TEST(Team, EveryThreadWorksOnce) {
  for (int threads : {1, 2, 3, 16, 5, 1, 7}) {
    std::array<std::atomic<int>, 16> calls{};
    run_team(threads, [&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
    for (int t = 0; t < 16; ++t)
      EXPECT_EQ(calls[static_cast<std::size_t>(t)], t < threads) << threads << ", " << t;
  }
}

// OpenMP's runtime ends the threads that a smaller region does not use.
TEST(Team, SmallerTeamsKeepTheOthersForLater) {
  run_team(8, [](int) {});
  const auto before = threads_of_process();
  std::atomic<int> calls = 0;
  for (int i = 0; i < 50; ++i)
    for (int threads : {2, 8, 3, 5}) run_team(threads, [&](int) { ++calls; });
  EXPECT_EQ(calls, 50 * (2 + 8 + 3 + 5));
  EXPECT_EQ(threads_of_process(), before);
}

TEST(Team, ThreadsThatSleepAreWoken) {
  std::atomic<int> calls = 0;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than they poll
    run_team(4, [&](int) { ++calls; });
  }
  EXPECT_EQ(calls, 12);
}

TEST(Team, WorkInsideATeamStaysOnItsThread) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(team_limit(), 3);
  EXPECT_FALSE(inside_team());
  std::array<int, 3> limits{};
  run_team(3, [&](int thread) { limits[static_cast<std::size_t>(thread)] = team_limit(); });
  EXPECT_EQ(limits, (std::array<int, 3>{1, 1, 1}));
  EXPECT_EQ(team_limit(), 3);
#pragma omp parallel num_threads(2)
  EXPECT_EQ(team_limit(), 1);
  omp_set_num_threads(before);
}

// Each thread of the program has a team of its own.
TEST(Team, TwoThreadsStartWorkAtTheSameTime) {
  std::atomic<int> calls = 0;
  auto work = [&] {
    for (int i = 0; i < 200; ++i) run_team(3, [&](int) { ++calls; });
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(calls, 2 * 200 * 3);
}

TEST(Team, NobodyPassesABarrierBeforeTheLast) {
  constexpr int kThreads = 6, kRounds = 200;
  TeamBarrier barrier(kThreads);
  std::atomic<int> arrived = 0, early = 0;
  run_team(kThreads, [&](int) {
    for (int round = 1; round <= kRounds; ++round) {
      ++arrived;
      barrier.wait();
      if (arrived < round * kThreads) ++early;
      barrier.wait();
    }
  });
  EXPECT_EQ(arrived, kThreads * kRounds);
  EXPECT_EQ(early, 0);
}

TEST(TeamCosts, LieBetweenTheMeasuredOnes) {
  const TeamCosts costs({0, 1e-6, 2e-6, 4e-6});
  EXPECT_EQ(costs.of(1), 0);
  EXPECT_DOUBLE_EQ(costs.of(2), 1e-6);
  EXPECT_DOUBLE_EQ(costs.of(3), 1.5e-6);
  EXPECT_DOUBLE_EQ(costs.of(8), 4e-6);
  EXPECT_DOUBLE_EQ(costs.of(16), 8e-6) << "beyond, the last line goes on";
  EXPECT_DOUBLE_EQ(TeamCosts().of(16), 5e-6);
  EXPECT_DOUBLE_EQ(TeamCosts(std::vector<double>()).of(16), 5e-6) << "nothing was measured";
  EXPECT_GE(TeamCosts({0, 5e-6, 1e-6}).of(4), 5e-6) << "more threads never cost less";
}

TEST(TeamCosts, ShortWorkTakesFewThreads) {
  const TeamCosts usual, slow({0, 20e-6, 30e-6, 50e-6, 90e-6});
  EXPECT_EQ(usual.threads_for(1e-6, 16), 1);
  EXPECT_EQ(usual.threads_for(1, 16), 16);
  EXPECT_EQ(usual.threads_for(1, 5), 5);
  EXPECT_EQ(slow.threads_for(20e-6, 16), 1);
  EXPECT_EQ(slow.threads_for(1, 16), 16);
  EXPECT_LT(usual.threads_for(30e-6, 16, 5), usual.threads_for(30e-6, 16)) << "they also meet 5 times";
}

TEST(TeamCosts, MoreCoresMakeNoWorkSlower) {
  for (const TeamCosts& costs : {TeamCosts(), TeamCosts({0, 20e-6, 30e-6, 50e-6, 90e-6})})
    for (double seconds = 1e-7; seconds < 1; seconds *= 1.5) {
      double fewer = seconds;
      for (int limit : {2, 4, 8, 16, 64}) {
        const int threads = costs.threads_for(seconds, limit);
        const double time = seconds / threads + costs.of(threads);
        EXPECT_LE(time, 1.1 * fewer) << seconds << " s on up to " << limit;
        fewer = std::min(fewer, time);
      }
    }
}

}  // namespace
}  // namespace headroom
