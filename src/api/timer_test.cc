#include "headroom/timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using testing::expect_rejected;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::vector<std::string> names(const Timer& timer) {
  std::vector<std::string> list;
  for (const TimerRow& row : timer.rows())
    list.push_back(std::string(static_cast<std::size_t>(row.depth), '>') + row.name);
  return list;
}

TEST(Timer, CountsAndAddsUp) {
  Timer timer;
  for (const int ms : {2, 6}) {
    timer.start("work");
    sleep_ms(ms);
    timer.stop("work");
  }
  ASSERT_EQ(timer.rows().size(), 1u);
  const TimerRow row = timer.rows()[0];
  EXPECT_EQ(row.calls, 2);
  EXPECT_GE(row.min_s, 0.002);
  EXPECT_GE(row.max_s, 0.006);
  EXPECT_LE(row.min_s, row.mean_s());
  EXPECT_LE(row.mean_s(), row.max_s);
  EXPECT_DOUBLE_EQ(row.total_s, row.min_s + row.max_s);
  EXPECT_DOUBLE_EQ(row.self_s, row.total_s);
}

TEST(Timer, NestedTimesAreInclusiveAndExclusive) {
  Timer timer;
  timer.start("outer");
  sleep_ms(2);
  for (int i = 0; i < 2; ++i) {
    timer.start("inner");
    sleep_ms(3);
    timer.stop("inner");
  }
  timer.stop("outer");
  timer.start("inner");  // the same name at another place is another row
  timer.stop("inner");
  EXPECT_EQ(names(timer), (std::vector<std::string>{"outer", ">inner", "inner"}));
  const std::vector<TimerRow> rows = timer.rows();
  EXPECT_EQ(rows[1].calls, 2);
  EXPECT_GE(rows[1].total_s, 0.006);
  EXPECT_GE(rows[0].total_s, 0.008);
  EXPECT_NEAR(rows[0].self_s, rows[0].total_s - rows[1].total_s, 1e-9);
  EXPECT_GE(rows[0].self_s, 0.002);
}

TEST(Timer, RecursionCountsOnce) {
  Timer timer;
  {
    const auto outer = timer.scope("f");
    const auto inner = timer.scope("f");
    sleep_ms(2);
  }
  const std::vector<TimerRow> rows = timer.rows();
  ASSERT_EQ(names(timer), (std::vector<std::string>{"f", ">f"}));
  EXPECT_LT(rows[0].self_s, rows[1].total_s);
}

TEST(Timer, WrongStopsAreErrorsAndChangeNothing) {
  Timer timer;
  expect_rejected([&] { timer.stop("a"); }, {"'a'", "none is running"});
  timer.start("a");
  timer.start("b");
  expect_rejected([&] { timer.stop("a"); }, {"'a'", "'b' was started last"});
  timer.stop("b");
  timer.stop("a");
  EXPECT_EQ(names(timer), (std::vector<std::string>{"a", ">b"}));
}

TEST(Timer, ScopesEndWithTheirBlock) {
  Timer timer;
  try {
    const auto scope = timer.scope("block");
    timer.start("never stopped");
    throw 1;
  } catch (int) {
  }
  timer.start("after");
  timer.stop("after");
  EXPECT_EQ(names(timer), (std::vector<std::string>{"block", ">never stopped", "after"}));
}

TEST(Timer, ShowsWhatEndedInsideWhatStillRuns) {
  Timer timer;
  timer.start("outer");
  EXPECT_TRUE(timer.rows().empty());
  { const auto scope = timer.scope("inner"); }
  EXPECT_EQ(names(timer), (std::vector<std::string>{"outer", ">inner"}));
  EXPECT_EQ(timer.rows()[0].calls, 0);
  timer.reset();
  EXPECT_TRUE(timer.rows().empty());
  timer.stop("outer");
  EXPECT_EQ(timer.rows()[0].calls, 1);
}

TEST(Timer, ThreadsNestApartAndShareRows) {
  Timer timer;
  constexpr int kThreads = 8, kRounds = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&timer] {
      for (int i = 0; i < kRounds; ++i) {
        const auto outer = timer.scope("outer");
        const auto inner = timer.scope(i % 2 == 0 ? "even" : "odd");
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::int64_t inner = 0;
  for (const TimerRow& row : timer.rows()) {
    if (row.depth == 0) {
      EXPECT_EQ(row.calls, kThreads * kRounds) << row.name;
    } else {
      inner += row.calls;
    }
    EXPECT_GE(row.self_s, 0) << row.name;
  }
  EXPECT_EQ(timer.rows().size(), 3u);
  EXPECT_EQ(inner, kThreads * kRounds);
}

TEST(Timer, DumpsATable) {
  Timer timer;
  {
    const auto outer = timer.scope("outer");
    const auto inner = timer.scope("inner");
  }
  const std::string text = timer.dump();
  EXPECT_TRUE(text.starts_with("timer")) << text;
  for (const char* word :
       {"calls", "total ms", "self ms", "mean ms", "min ms", "max ms", "\nouter", "\n  inner"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(Timer, CanBeMoved) {
  Timer first;
  first.start("a");
  Timer second = std::move(first);
  second.stop("a");
  EXPECT_EQ(second.rows()[0].calls, 1);
}

}  // namespace
}  // namespace headroom
