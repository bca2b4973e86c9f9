#include "inject/step_search.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace headroom::inject {
namespace {

// Every letter is a kernel.
std::vector<int> launches_of(std::string_view text) { return {text.begin(), text.end()}; }

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

using Runs = std::vector<FoundSteps::Run>;

TEST(StepSearch, FindsTheShortestRepeatedBlock) {
  const auto found = find_steps(launches_of(repeated("fgbu", 10)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 4u);
  EXPECT_EQ(found->runs, (Runs{{0, 10}}));
}

TEST(StepSearch, WarmUpIsNoStep) {
  const auto found = find_steps(launches_of("iiiqxxyzq" + repeated("fgbu", 10)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 4u);
  EXPECT_EQ(found->runs, (Runs{{9, 10}}));
}

TEST(StepSearch, LayersAreNoSteps) {
  const std::string step = "e" + repeated("qksov", 12) + "hl" + repeated("VOSKQ", 12) + "Hu";
  const auto found = find_steps(launches_of(repeated(step, 6)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->steps(), 6u);
  const std::string pass = "ed" + repeated("qksov", 12) + "hmn";
  EXPECT_EQ(find_steps(launches_of(repeated(pass, 8)))->period, pass.size());
}

// An epoch repeats, too, but a step holds all of its kinds of launches.
TEST(StepSearch, EvaluationsLieBetweenTheRuns) {
  const std::string epoch = repeated("cfghlLHGFu", 8) + repeated("cfgha", 5);
  const auto found = find_steps(launches_of(repeated(epoch, 4)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 10u);
  ASSERT_EQ(found->runs.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found->runs[i].begin, i * epoch.size());
    EXPECT_EQ(found->runs[i].steps, 8u);
  }
}

// A program may launch single kernels far more often than its steps do.
TEST(StepSearch, LoopsThatTimeOneKernelAreNoSteps) {
  const std::string step = "abcdefghijkl";
  const std::string text =
      repeated(step, 50) + repeated("R", 6000) + repeated("S", 4000) + repeated("T", 9000);
  const auto found = find_steps(launches_of(text));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->runs, (Runs{{0, 50}}));
  EXPECT_EQ(find_steps(launches_of(repeated("R", 6000) + repeated(step, 50)))->period, step.size());
}

TEST(StepSearch, AnExtraLaunchEndsARun) {
  const auto found = find_steps(launches_of(repeated("abcd", 6) + "x" + repeated("abcd", 5)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runs, (Runs{{0, 6}, {25, 5}}));
}

TEST(StepSearch, AStepBeginsAfterTheLongestPause) {
  const std::vector<int> launches = launches_of(repeated("abcd", 8));
  std::vector<std::int64_t> begins;
  std::int64_t now = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) begins.push_back(now += launches[i] == 'c' ? 900 : 100);
  const auto found = find_steps(launches, begins);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runs, (Runs{{2, 7}}));
}

TEST(StepSearch, OneLaunchCanBeAStep) {
  const auto found = find_steps(launches_of(repeated("g", 20)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 1u);
  EXPECT_EQ(found->steps(), 20u);
}

TEST(StepSearch, FindsNothingThatDoesNotRepeat) {
  EXPECT_FALSE(find_steps({}));
  EXPECT_FALSE(find_steps(launches_of("abcdefgh")));
  EXPECT_FALSE(find_steps(launches_of("ab")));
  std::vector<int> random;
  for (unsigned i = 0, x = 12345; i < 3000; ++i)
    random.push_back(int((x = x * 1664525u + 1013904223u) >> 24));
  EXPECT_FALSE(find_steps(random));
}

}  // namespace
}  // namespace headroom::inject
