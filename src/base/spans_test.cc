#include "base/spans.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace headroom {
namespace {

const SpanName kOuter{"outer"}, kInner{"inner"};

std::vector<ThreadSpans> record(const auto& work) {
  spans::start();
  work();
  return spans::stop();
}

TEST(Spans, NestOnTheirThread) {
  spans::name_thread("test");
  const auto threads = record([] {
    const Span outer(kOuter, SpanKind::batch);
    { const Span inner(kInner, SpanKind::step, 7); }
    const Span again(kInner, SpanKind::step, 8);
  });
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].thread, "test");
  EXPECT_GT(threads[0].system_id, 0);
  const auto& e = threads[0].events;
  ASSERT_EQ(e.size(), 3u);
  EXPECT_EQ(spans::text_of(e[0].name), "outer");
  EXPECT_EQ(e[0].depth, 0);
  EXPECT_EQ(e[1].depth, 1);
  EXPECT_EQ(e[1].step, 7);
  EXPECT_EQ(e[2].step, 8);
  EXPECT_EQ(e[1].kind, SpanKind::step);
  EXPECT_LE(e[0].begin_ns, e[1].begin_ns);
  EXPECT_LE(e[1].end_ns, e[2].begin_ns);
  EXPECT_LE(e[2].end_ns, e[0].end_ns);
}

TEST(Spans, NothingIsRecordedWhileOff) {
  { const Span span(kOuter, SpanKind::batch); }
  EXPECT_TRUE(record([] {}).empty());
}

TEST(Spans, ANewRecordingForgetsTheLast) {
  spans::start();
  { const Span span(kOuter, SpanKind::batch); }
  const auto threads = record([] { const Span span(kInner, SpanKind::batch); });
  ASSERT_EQ(threads.size(), 1u);
  ASSERT_EQ(threads[0].events.size(), 1u);
  EXPECT_EQ(spans::text_of(threads[0].events[0].name), "inner");
}

TEST(Spans, ASpanThatIsStillOpenEndsWithTheRecording) {
  spans::start();
  const Span open(kOuter, SpanKind::batch);
  const auto threads = spans::stop();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_GE(threads[0].events[0].end_ns, threads[0].events[0].begin_ns);
  EXPECT_GT(threads[0].events[0].end_ns, 0);
}

TEST(Spans, EveryThreadHasItsOwn) {
  const auto threads = record([] {
    std::vector<std::thread> team;
    for (int i = 0; i < 4; ++i)
      team.emplace_back([i] {
        spans::name_thread("worker " + std::to_string(i));
        for (int k = 0; k < 100; ++k) const Span span(kInner, SpanKind::worker);
      });
    for (std::thread& thread : team) thread.join();
  });
  ASSERT_EQ(threads.size(), 4u);
  for (const ThreadSpans& thread : threads) {
    EXPECT_EQ(thread.events.size(), 100u);
    EXPECT_TRUE(thread.thread.starts_with("worker ")) << thread.thread;
    for (std::size_t i = 1; i < thread.events.size(); ++i)
      EXPECT_LE(thread.events[i - 1].end_ns, thread.events[i].begin_ns);
  }
}

// A recording that starts inside a span must not end with it.
TEST(Spans, ASpanFromBeforeTheRecordingClosesNothing) {
  std::vector<ThreadSpans> threads;
  {
    spans::start();
    const Span before(kOuter, SpanKind::batch);
    spans::stop();
    spans::start();
  }
  { const Span span(kInner, SpanKind::batch); }
  threads = spans::stop();
  ASSERT_EQ(threads.size(), 1u);
  ASSERT_EQ(threads[0].events.size(), 1u);
  EXPECT_EQ(threads[0].events[0].depth, 0);
}

TEST(Spans, KindsHaveNames) {
  std::set<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(SpanKind::user); ++k) {
    const std::string_view name = name_of(static_cast<SpanKind>(k));
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace
}  // namespace headroom
