#include "report/trace_tracks.h"

#include <gtest/gtest.h>

#include <set>

#include "report/testing/random_trace.h"
#include "report/testing/trace_nesting.h"

namespace headroom {
namespace {

using testing::check_nesting;
using testing::RandomTrace;
using testing::ReadSlice;

std::vector<ReadSlice> slices_of(const TraceTracks& tracks) {
  std::vector<ReadSlice> list;
  for (const TraceTracks::Track& track : tracks.tracks)
    for (const TraceSlice& slice : track.slices)
      list.push_back({tracks.processes[track.process].name, std::to_string(track.tid),
                      std::string(label_of(tracks, slice)), slice.begin_ns, slice.end_ns});
  return list;
}

Trace one_stream() {
  Trace trace;
  trace.names = {"k", "launch", "batch"};
  trace.lanes = {{"main"}, {"stream 7", true}};
  return trace;
}

std::int64_t sum(const TraceTracks& tracks, TraceSlice::Source source) {
  std::int64_t count = 0;
  for (const TraceTracks::Track& track : tracks.tracks)
    count += std::count_if(track.slices.begin(), track.slices.end(),
                           [&](const TraceSlice& slice) { return slice.source == source; });
  return count;
}

TEST(TraceNestingCheck, FindsWhatSpoilsATree) {
  const auto complaint = [](std::int64_t begin, std::int64_t end) {
    return check_nesting({{"p", "t", "outer", 10, 20}, {"p", "t", "x", begin, end}});
  };
  for (const auto& [begin, end] : {std::pair(10, 20), {12, 12}, {20, 20}, {20, 30}, {10, 10}})
    EXPECT_EQ(complaint(begin, end), "") << begin;
  EXPECT_NE(complaint(15, 21).find("overlaps 'outer'"), std::string::npos);
  EXPECT_NE(complaint(15, 14).find("ends before"), std::string::npos);
  EXPECT_NE(complaint(9, 12).find("begins before"), std::string::npos);
  EXPECT_EQ(check_nesting({{"p", "t", "outer", 10, 20}, {"p", "u", "x", 15, 21}}), "") << "another track";
}

TEST(TraceTracks, NestWhatATraceHolds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RandomTrace random(seed);
    const TraceTracks tracks = trace_tracks(random.trace);
    EXPECT_EQ(check_nesting(slices_of(tracks)), "") << seed;
    EXPECT_EQ(slices_of(tracks).size(), random.trace.spans.size() + random.trace.kernels.size() +
                                            random.trace.copies.size() + random.trace.calls.size());
  }
}

TEST(TraceTracks, NumberProcessesAndThreadsLikeASystem) {
  const RandomTrace random(1, 3);
  const TraceTracks tracks = trace_tracks(random.trace);
  ASSERT_EQ(tracks.processes.size(), 6u);
  EXPECT_EQ(tracks.processes[2].name, "rank 1");
  EXPECT_EQ(tracks.processes[3].name, "rank 1 GPU");
  std::set<std::int64_t> numbers;
  for (const TraceTracks::Track& track : tracks.tracks) EXPECT_TRUE(numbers.insert(track.tid).second);
  for (const TraceTracks::Process& process : tracks.processes) EXPECT_TRUE(numbers.count(process.pid));
  EXPECT_EQ(trace_tracks(RandomTrace(1, 1).trace).processes[1].name, "headroom GPU");
}

TEST(TraceTracks, WorkOfOneStreamAtTheSameTimeIsSideBySide) {
  Trace trace = one_stream();
  trace.kernels = {{{0, 10}, 1}, {{10, 30}, 1}};
  trace.copies = {{{12, 15}, 1}, {{30, 40}, 1}};  // the first lies within a kernel, yet is no part of it
  const TraceTracks tracks = trace_tracks(trace);
  ASSERT_EQ(tracks.tracks.size(), 3u);
  EXPECT_EQ(tracks.tracks[1].slices.size(), 3u);
  EXPECT_EQ(tracks.tracks[2].name, "stream 7 (2)");
  EXPECT_EQ(tracks.tracks[2].slices.at(0).begin_ns, 12);
}

TEST(TraceTracks, AnArrowPerLaunch) {
  Trace trace = one_stream();
  trace.calls = {{{0, 5}, 0, 1, 1}, {{5, 9}, 0, 1, 2}, {{50, 60}, 0, 1, 3}};
  trace.kernels = {{{10, 20}, 1}, {{20, 30}, 1}, {{30, 40}, 1}, {{45, 48}, 1}, {{80, 90}, 1}};
  for (const auto& [kernel, call] : {std::pair(0, 1), {1, 2}, {2, 2}, {3, 3}, {4, 99}})
    trace.kernels[static_cast<std::size_t>(kernel)].correlation = call;
  const TraceTracks tracks = trace_tracks(trace);
  std::vector<std::int64_t> from, to;
  for (const TraceSlice& slice : tracks.tracks[0].slices) from.push_back(slice.flow);
  for (const TraceSlice& slice : tracks.tracks[1].slices) to.push_back(slice.flow);
  EXPECT_EQ(from, (std::vector<std::int64_t>{1, 2, 0})) << "the third kernel begins before its call";
  EXPECT_EQ(to, (std::vector<std::int64_t>{1, 2, 0, 0, 0})) << "a graph has one arrow, to its first kernel";
}

// Three batches; the kernels of each run while the next one has begun.
Trace three_batches() {
  Trace trace = one_stream();
  const auto add_span = [&](std::int64_t begin, std::int64_t end, SpanKind kind) {
    Trace::Span span{{begin, end}, 0, 2};
    span.kind = kind;
    trace.spans.push_back(span);
  };
  add_span(0, 50, SpanKind::setup);
  add_span(10, 20, SpanKind::copy);
  for (std::int64_t i = 1; i <= 3; ++i) {
    const std::int64_t at = 100 * i;
    add_span(at, at + 90, SpanKind::batch);
    add_span(at, at + 10, SpanKind::phase);
    add_span(at + 1, at + 3, SpanKind::step);
    add_span(at + 95, at + 96, SpanKind::wait);
    trace.calls.push_back({{at + 1, at + 2}, 0, 1, i});
    trace.kernels.push_back({{at + 80, at + 120}, 1});
    trace.kernels.back().correlation = i;
  }
  return trace;
}

TEST(TraceTracks, ShowTheFirstStepsInDetail) {
  const Trace trace = three_batches();
  const auto counts = [&](int max_steps) {
    const TraceTracks tracks = trace_tracks(trace, {}, {.max_steps = max_steps});
    return std::tuple(sum(tracks, TraceSlice::Source::span), sum(tracks, TraceSlice::Source::call),
                      sum(tracks, TraceSlice::Source::kernel));
  };
  EXPECT_EQ(counts(0), std::tuple(14, 3, 3));
  EXPECT_EQ(counts(9), std::tuple(14, 3, 3));
  EXPECT_EQ(counts(2), std::tuple(12, 2, 2)) << "phase and step of one batch are gone";
  EXPECT_EQ(counts(1), std::tuple(10, 1, 1));
  const TraceTracks one = trace_tracks(trace, {}, {.max_steps = 1});
  EXPECT_EQ(one.tracks[1].slices.at(0).end_ns, 220) << "whole, though the second batch began at 200";
}

TEST(TraceTracks, TheFirstStepsAreThoseOfTheWindows) {
  Trace trace = three_batches();
  const auto kernels = [&](int max_steps) {
    const TraceTracks tracks = trace_tracks(trace, {}, {.max_steps = max_steps});
    std::vector<std::int64_t> begins;
    for (const TraceSlice& slice : tracks.tracks[1].slices) begins.push_back(slice.begin_ns);
    return begins;
  };
  const auto add_window = [&](int rank, std::int64_t begin, std::int64_t end) {
    Trace::Window window{{begin, end}};
    window.rank = rank;
    trace.windows.push_back(window);
  };
  add_window(1, 100, 200);
  EXPECT_EQ(kernels(1), (std::vector<std::int64_t>{180})) << "a window of another rank";
  add_window(0, 205, 300);
  EXPECT_EQ(kernels(1), (std::vector<std::int64_t>{280})) << "not the batch of the warm-up";
  trace.windows = {};
  add_window(0, 100, 200);
  add_window(0, 300, 400);
  EXPECT_EQ(kernels(1), (std::vector<std::int64_t>{180}));
  EXPECT_EQ(kernels(2), (std::vector<std::int64_t>{180, 380})) << "what lies between windows is left out";
}

TEST(TraceTracks, CurvesHoldFromWhereTheirTimeBegins) {
  const RandomTrace random(1);
  TraceExtras extras = random.extras();
  extras.samples_begin_s = 1e-6;
  const TraceTracks tracks = trace_tracks(random.trace, extras);
  ASSERT_EQ(tracks.curves.size(), 3u);
  const auto times = [&](std::size_t curve) {
    std::vector<std::int64_t> list;
    for (const TraceTracks::Point& point : tracks.curves[curve].points) list.push_back(point.ns);
    return list;
  };
  EXPECT_EQ(times(0), (std::vector<std::int64_t>{1000, 2000})) << "a reading failed";
  EXPECT_EQ(times(1), (std::vector<std::int64_t>{1500, 2000, 2500})) << "a counter is what it is at its time";
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{1000, 3000})) << "a loss that is not finite";
}

TEST(TraceTracks, BeginAtZero) {
  Trace trace = one_stream();
  trace.calls = {{{-5, 3}, 0, 1}};
  const TraceTracks tracks = trace_tracks(trace);
  EXPECT_EQ(tracks.tracks[0].slices.at(0), (Trace::Interval{0, 8}));
  EXPECT_EQ(tracks.end_ns, 8);
}

TEST(TraceTracks, DetailsSayWhereAndHow) {
  RandomTrace random(1);
  random.trace.copies = {{{0, 100}, 2, 1}};
  random.trace.copies[0].bytes = 1234;
  random.trace.copies[0].pinned = false;
  const TraceTracks tracks = trace_tracks(random.trace, random.extras());
  const auto text = [&](TraceSlice::Source source, std::string_view key) -> std::string {
    for (const TraceDetail& detail : details_of(tracks, {{}, source, 0, 0}))
      if (detail.key == key)
        return std::visit([](const auto& value) { return fmt::format("{}", value); }, detail.value);
    return "none";
  };
  const Trace::Kernel& kernel = random.trace.kernels[0];
  EXPECT_EQ(text(TraceSlice::Source::kernel, "grid"), fmt::format("{} x 2 x 1", kernel.grid[0]));
  EXPECT_EQ(text(TraceSlice::Source::kernel, "cluster"), "none");
  EXPECT_EQ(text(TraceSlice::Source::copy, "layer"), "fc \"2\"");
  EXPECT_EQ(text(TraceSlice::Source::copy, "operator"), "conv2d");
  EXPECT_EQ(text(TraceSlice::Source::copy, "GB/s"), "12.34");
  EXPECT_EQ(text(TraceSlice::Source::copy, "host memory"), "pageable");
  EXPECT_EQ(text(TraceSlice::Source::span, "step"), "none");
}

}  // namespace
}  // namespace headroom
