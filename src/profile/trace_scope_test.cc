#include "profile/trace_scope.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

// Rank 0: [10, 20) and [30, 50). Rank 1: [100, 110). Rank 2 has none.
Trace windowed() {
  Trace trace{.lanes = {{"main", false, 0}, {"main", false, 1}, {"main", false, 2}}};
  for (const auto& [rank, begin, end] :
       {std::array{1, 100, 110}, std::array{0, 30, 50}, std::array{0, 10, 20}}) {
    Trace::Window window{{begin, end}};
    window.rank = rank;
    trace.windows.push_back(window);
  }
  return trace;
}

TEST(TraceScope, AnEventBelongsToTheWindowInWhichItBegins) {
  const Trace trace = windowed();
  const TraceScope scope(trace);
  EXPECT_EQ(scope.window_at(0, 9), std::nullopt);
  EXPECT_EQ(scope.window_at(0, 10), 0u);
  EXPECT_EQ(scope.window_at(0, 19), 0u);
  EXPECT_EQ(scope.window_at(0, 20), std::nullopt);
  EXPECT_EQ(scope.window_at(0, 49), 1u);
  EXPECT_EQ(scope.window_at(0, 50), std::nullopt);
  EXPECT_EQ(scope.window_at(1, 10), std::nullopt) << "a window of another rank";
  EXPECT_EQ(scope.window_at(1, 105), 0u);
  EXPECT_EQ(scope.window_at(2, 10), std::nullopt);
  Trace::Call call{{49, 70}};
  EXPECT_TRUE(scope.holds(call));
  call.lane = 1;
  EXPECT_FALSE(scope.holds(call));
}

TEST(TraceScope, MeasuresWhatLiesWithin) {
  const Trace trace = windowed();
  const TraceScope scope(trace);
  EXPECT_EQ(scope.length_within(0, {0, 100}), 30);
  EXPECT_EQ(scope.length_within(0, {15, 35}), 10);
  EXPECT_EQ(scope.length_within(0, {20, 30}), 0);
  EXPECT_EQ(scope.length_within(0, {12, 12}), 0);
  EXPECT_EQ(scope.length_within(2, {0, 100}), 0);
}

TEST(TraceScope, WithoutWindowsIsEverything) {
  Trace trace = windowed();
  const TraceScope whole(trace, TracePart::whole_run);
  EXPECT_EQ(whole.window_at(2, 5), 0u);
  EXPECT_EQ(whole.length_within(2, {-5, 100}), 105);
  trace.windows.clear();
  const TraceScope scope(trace);
  EXPECT_EQ(scope.window_at(0, 5), 0u);
  EXPECT_EQ(scope.length_within(0, {0, 7}), 7);
}

}  // namespace
}  // namespace headroom
