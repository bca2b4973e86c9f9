#include "train/watched_steps.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace {

StepWatch noting_watch(std::string& log, char name, std::int64_t steps) {
  StepWatch watch{.skip = 1, .warm_up = 1, .steps = steps};
  const auto note = [&log, name](char what) { log += {name, what, ' '}; };
  watch.attach = [=] { note('+'); };
  watch.begin = [=] { note('('); };
  watch.end = [=](std::int64_t count) { note(static_cast<char>('0' + count)); };
  watch.detach = [=] { note('-'); };
  return watch;
}

void run_steps(WatchedSteps& watched, int steps) {
  const auto idle = [] {};
  for (int i = 0; i < steps; ++i) watched.before(true, idle), watched.after(true, idle);
}

TEST(WatchedSteps, OneWatchFollowsAnother) {
  std::string log;
  StepWatch first = noting_watch(log, 'a', 2), second = noting_watch(log, 'b', 3);
  first.next = &second;
  WatchedSteps watched(&first);
  run_steps(watched, 20);
  watched.finish([] {});
  EXPECT_EQ(log, "a+ a( a2 a- b+ b( b3 b- ");
}

TEST(WatchedSteps, ARunThatEndsEarlyBeginsNoOther) {
  std::string log;
  StepWatch first = noting_watch(log, 'a', 5), second = noting_watch(log, 'b', 3);
  first.next = &second;
  WatchedSteps watched(&first);
  run_steps(watched, 4);
  watched.finish([] {});
  run_steps(watched, 9);
  EXPECT_EQ(log, "a+ a( a2 a- ");
}

}  // namespace
}  // namespace headroom
