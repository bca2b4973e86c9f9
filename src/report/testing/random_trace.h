#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "report/trace_tracks.h"

namespace headroom::testing {

// A trace that has everything a trace can have, most of it at once: ranks, threads, streams, batches, graphs,
// events without length, copies that overlap kernels of their stream, names that need escaping.
class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed, int ranks = 2) : random_(seed) {
    trace.names = {"plain",
                   "quote \" and \\ backslash",
                   "two\nlines\tand a tab",
                   "größer, 卷积, 🔬",
                   "bell \a esc \x1b",
                   "not UTF-8: \xff\xc3",
                   "",
                   "void gemm<float, 128>(T*, int) [clone .kd]",
                   "</script>&amp;",
                   "nul \x01\x02 \x7f \xc2\x9b"};
    for (int rank = 0; rank < ranks; ++rank) add_rank(rank);
    const auto by_begin = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
    std::stable_sort(trace.kernels.begin(), trace.kernels.end(), by_begin);
    std::stable_sort(trace.copies.begin(), trace.copies.end(), by_begin);
    std::stable_sort(trace.calls.begin(), trace.calls.end(), by_begin);
    for (const char* layer : {"conv1", "fc \"2\""})
      plan.steps.push_back({.layer = layer, .phase = "forward", .op = "conv2d", .kernel = "cuda:direct"});
    samples.seconds = {0.5e-6, 1e-6, 1.5e-6};
    samples.series = {{.info = {.key = "gpu0_power_w", .name = "GPU 0 power", .unit = "W"},
                       .values = {90, kNotRead, 300.5}},
                      {.info = {.key = "gpu0_energy_j", .name = "GPU 0 energy", .unit = "J", .counter = true},
                       .values = {1, 2, 3}}};
  }

  TraceExtras extras() const {
    return {.plan = &plan, .samples = &samples, .losses = {{1e-6, 2.5}, {2e-6, kNotRead}, {3e-6, 1.25}}};
  }

  Trace trace;
  RecordedPlan plan;
  Samples samples;

 private:
  std::int64_t upto(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }
  int any_name() { return static_cast<int>(upto(static_cast<std::int64_t>(trace.names.size()) - 1)); }

  int add_lane(const std::string& name, bool is_stream, int rank) {
    trace.lanes.push_back({name, is_stream, rank});
    return static_cast<int>(trace.lanes.size()) - 1;
  }

  void add_span(int lane, SpanKind kind, std::int64_t begin, std::int64_t end, int depth) {
    Trace::Span span{{begin, end}, lane, any_name()};
    span.kind = kind;
    span.depth = depth;
    span.step = kind == SpanKind::step ? static_cast<int>(upto(3)) - 1 : -1;  // also steps that no plan has
    trace.spans.push_back(span);
  }

  // Spans within [begin, end], one after the other, some without a gap, some without length.
  void add_tree(int lane, std::int64_t begin, std::int64_t end, int depth) {
    while (depth < 5) {
      const std::int64_t from = begin + upto(3) * upto(20), until = from + upto(1) * upto(300);
      if (until > end) return;
      add_span(lane, depth < 3 ? SpanKind::phase : SpanKind::step, from, until, depth);
      add_tree(lane, from, until, depth + 1);
      begin = until + (until == from ? 1 : 0);
    }
  }

  // Work on a stream, launched by a call, and at times a copy that lasts beyond the kernel's end.
  void launch(int stream, int thread, std::int64_t at, std::int64_t& free, bool graph) {
    const std::int64_t number = ++correlation_;
    trace.calls.push_back({{at, at + upto(6)}, thread, any_name(), number});
    for (int i = 0; i < (graph ? 3 : 1); ++i) {
      Trace::Kernel kernel{
          {std::max(free, at) + upto(5), 0}, stream, any_name(), static_cast<int>(upto(3)) - 1};
      kernel.end_ns = free = kernel.begin_ns + upto(40);
      kernel.grid = {static_cast<int>(1 + upto(9)), 2, 1};
      kernel.correlation = number;
      kernel.graph_node = graph ? 7 : 0;
      trace.kernels.push_back(kernel);
      if (upto(3) == 0) {
        Trace::Copy copy{
            {kernel.end_ns - std::min<std::int64_t>(upto(3), kernel.end_ns - kernel.begin_ns), 0}, stream};
        copy.end_ns = copy.begin_ns + upto(30);
        copy.bytes = upto(1 << 20);
        copy.kind = static_cast<Trace::CopyKind>(upto(4));
        trace.copies.push_back(copy);
      }
    }
  }

  void add_rank(int rank) {
    const int main = add_lane("main", false, rank), loader = add_lane("loader \"1\"\n", false, rank);
    const int one = add_lane("stream 7", true, rank), two = add_lane("stream 7", true, rank);
    add_lane("idle", false, rank);
    correlation_ = 0;  // each process counts for itself
    add_span(main, SpanKind::training, 0, 10'000, 0);
    std::int64_t free_one = 0, free_two = 0;
    for (std::int64_t at = 100; at < 9'000; at += 1'000) {
      add_span(main, SpanKind::batch, at, at + 900, 1);
      add_tree(main, at, at + 900, 2);
      for (std::int64_t call = at; call < at + 900; call += 200) {
        launch(one, main, call, free_one, false);
        launch(two, main, call + 50, free_two, true);
      }
    }
    add_tree(loader, 0, 10'000, 0);
  }

  std::mt19937 random_;
  std::int64_t correlation_ = 0;
};

}  // namespace headroom::testing
