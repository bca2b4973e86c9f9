#include "profile/trace.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/json.h"

namespace headroom {
namespace {

class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  Trace make() {
    Trace trace;
    for (int i = 0; i < 5; ++i) trace.names.push_back(fmt::format("void kernel<{}>(\"é\\n\")", i));
    for (int i = 0; i < 4; ++i)
      trace.lanes.push_back({fmt::format("lane {}", i), pick(2) == 1, int(pick(3)), pick(99)});
    fill(trace.spans, [&](Trace::Span& s) {
      s.lane = int(pick(4)), s.name = int(pick(5)), s.step = int(pick(9)) - 1, s.depth = int(pick(4));
      s.kind = static_cast<SpanKind>(pick(14));
    });
    fill(trace.kernels, [&](Trace::Kernel& k) {
      k.lane = int(pick(4)), k.name = int(pick(5)), k.step = int(pick(9)) - 1;
      k.queued_ns = pick(1000), k.submitted_ns = pick(1000);
      for (auto* sizes : {&k.grid, &k.block, &k.cluster})
        for (int& size : *sizes) size = int(pick(1024)) + 1;
      k.registers = int(pick(256)), k.static_shared = pick(9000), k.dynamic_shared = pick(200'000);
      k.shared_executed = pick(233'472), k.local = pick(100), k.correlation = pick(1 << 30);
      k.graph_node = ~std::uint64_t{0} - std::uint64_t(pick(100));
    });
    fill(trace.copies, [&](Trace::Copy& c) {
      c.lane = int(pick(4)), c.step = int(pick(9)) - 1, c.kind = static_cast<Trace::CopyKind>(pick(5));
      c.bytes = pick(std::int64_t{1} << 40), c.pinned = pick(2) == 1, c.correlation = pick(1 << 30);
      c.graph_node = std::uint64_t(pick(100));
    });
    fill(trace.calls, [&](Trace::Call& c) {
      c.lane = int(pick(4)), c.name = int(pick(5)), c.correlation = pick(1 << 30);
    });
    fill(trace.pages, [&](Trace::Pages& p) {
      p.lane = int(pick(4)), p.kind = static_cast<Trace::PageEvent>(pick(4));
      p.bytes = pick(1 << 20), p.faults = pick(100);
    });
    fill(trace.windows, [&](Trace::Window& w) {
      w.rank = int(pick(3)), w.steps = int(pick(20)), w.captured = pick(2) == 1;
    });
    trace.own_cost_s = 1e-3 * double(pick(1000)), trace.dropped = pick(10);
    trace.notes = {"no counters: \"permission\"", ""};
    return trace;
  }

 private:
  std::int64_t pick(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_);
  }
  template <class Event, class Rest>
  void fill(std::vector<Event>& events, Rest rest) {
    events.resize(static_cast<std::size_t>(pick(8)));
    for (Event& event : events) {
      event.begin_ns = pick(std::int64_t{1} << 50) - 100;
      event.end_ns = event.begin_ns + pick(1000);
      rest(event);
    }
  }
  std::mt19937 random_;
};

Trace reread(const Trace& trace) {
  return trace_from_json(parse_object(to_json(trace).dump(), "t.json"), "t.json");
}

TEST(Trace, ComesBackFromItsFile) {
  EXPECT_EQ(reread({}), Trace());
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Trace trace = RandomTrace(seed).make();
    EXPECT_EQ(reread(trace), trace) << "seed " << seed;
  }
}

TEST(Trace, FileLeavesOutFieldsWithDefaults) {
  Trace trace{.lanes = {{"stream 7", true}}, .kernels = {{}, {}}};
  trace.name_id("k");
  trace.kernels[1].registers = 32;
  const Json json = to_json(trace);
  EXPECT_EQ(json["kernels"].dump(), R"({"begin_ns":[0,0],"registers":[0,32]})");
  EXPECT_EQ(json["lanes"].dump(), R"({"name":["stream 7"],"is_stream":[true]})");
  EXPECT_EQ(json["calls"].dump(), "{}");
  EXPECT_EQ(trace_from_json(json, "t.json"), trace);
}

TEST(Trace, RanksThatSayTheSameSayItOnce) {
  Trace all{.notes = {"no cycles: denied"}};
  append(all, Trace{.notes = {"no cycles: denied", "no kernel trace"}});
  EXPECT_EQ(all.notes, (std::vector<std::string>{"no cycles: denied", "no kernel trace"}));
}

std::string complaint(const std::function<void(Json&)>& change) {
  Trace trace{.lanes = {{"main"}}, .spans = {{}, {}}, .kernels = {{}}, .copies = {{}}, .windows = {{}}};
  trace.name_id("a");
  trace.spans[1].kind = SpanKind::wait, trace.spans[0].kind = SpanKind::data;
  Json json = to_json(trace);
  change(json);
  try {
    trace_from_json(json, "t.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Trace, WrongFilesAreRejectedByField) {
  EXPECT_EQ(complaint([](Json&) {}), "");
  EXPECT_EQ(complaint([](Json& j) { j.erase("headroom_trace"); }),
            "t.json: this is not a trace: it has no 'headroom_trace'");
  EXPECT_EQ(complaint([](Json& j) { j["headroom_trace"] = 9; }),
            "t.json: the trace has version 9; this program reads 1");
  EXPECT_EQ(complaint([](Json& j) { j.erase("calls"); }), "t.json: trace.calls is missing");
  EXPECT_EQ(complaint([](Json& j) { j["names"][0] = 3; }), "t.json: trace.names[0] is number, not a text");
  EXPECT_EQ(complaint([](Json& j) { j["spans"] = 3; }), "t.json: trace.spans is number, not an object");
  EXPECT_EQ(complaint([](Json& j) { j["spans"].erase("begin_ns"); }),
            "t.json: trace.spans.begin_ns is missing");
  EXPECT_EQ(complaint([](Json& j) { j["spans"]["lane"] = {0}; }),
            "t.json: trace.spans.lane has 1 value for 2 events");
  EXPECT_EQ(complaint([](Json& j) {
              j["spans"]["lane"] = {0, 1};
            }),
            "t.json: trace.spans.lane[1] is 1, but the trace has 1 lane");
  EXPECT_EQ(complaint([](Json& j) {
              j["spans"]["name"] = {-1, 0};
            }),
            "t.json: trace.spans.name[0] is -1, but the trace has 1 name");
  EXPECT_EQ(complaint([](Json& j) { j["spans"]["kind"][1] = 99; }),
            "t.json: trace.spans.kind[1] is 99, but the file names 14 kinds");
  EXPECT_EQ(complaint([](Json& j) { j["span_kinds"][2] = "nap"; }),
            "t.json: trace.span_kinds[2] is 'nap', which this program does not know");
  EXPECT_EQ(complaint([](Json& j) { j["kernels"]["begin_ns"][0] = 5; }),
            "t.json: trace.kernels.end_ns[0] is 0, before its begin");
  EXPECT_EQ(complaint([](Json& j) {
              j["kernels"]["grid"] = {{1, 2}};
            }),
            "t.json: trace.kernels.grid[0] is not three numbers");
  EXPECT_EQ(complaint([](Json& j) { j["kernels"]["registers"] = {5'000'000'000}; }),
            "t.json: trace.kernels.registers[0] is 5000000000, which is out of range");
  EXPECT_EQ(complaint([](Json& j) { j["kernels"]["step"] = {-2}; }),
            "t.json: trace.kernels.step[0] is -2, not a step");
  EXPECT_EQ(complaint([](Json& j) { j["copies"]["bytes"] = {1.5}; }),
            "t.json: trace.copies.bytes[0] is number, not a whole number");
  EXPECT_EQ(complaint([](Json& j) { j["copies"]["pinned"] = {1}; }),
            "t.json: trace.copies.pinned[0] is number, not true or false");
  EXPECT_EQ(complaint([](Json& j) { j["windows"]["steps"] = "x"; }),
            "t.json: trace.windows.steps is string, not a list");
}

TEST(Trace, KindsAreReadByTheNamesInTheFile) {
  Trace trace{.lanes = {{"main"}}, .spans = {{}}};
  trace.name_id("a");
  trace.spans[0].kind = SpanKind::data;
  Json json = to_json(trace);
  std::swap(json["span_kinds"][1], json["span_kinds"][4]);
  EXPECT_EQ(trace_from_json(json, "t.json").spans[0].kind, SpanKind::batch);
}

TEST(Trace, KernelsOfAStepThatStartEarlyBeginAfterTheOneBefore) {
  const auto kernel = [](std::int64_t begin, std::int64_t end, int lane, int step) {
    return Trace::Kernel{{begin, end}, lane, 0, step};
  };
  std::vector<Trace::Kernel> kernels = {kernel(0, 100, 0, 3),   kernel(10, 50, 1, 3),   kernel(80, 120, 0, 3),
                                        kernel(90, 110, 0, -1), kernel(95, 130, 0, -1), kernel(100, 115, 0, 4),
                                        kernel(105, 118, 0, 3), kernel(200, 300, 0, 3)};
  leave_out_early_starts(kernels);
  const std::vector<Trace::Kernel> want = {kernel(0, 100, 0, 3),   kernel(10, 50, 1, 3),   kernel(90, 110, 0, -1),
                                           kernel(95, 130, 0, -1), kernel(100, 120, 0, 3), kernel(100, 115, 0, 4),
                                           kernel(118, 118, 0, 3), kernel(200, 300, 0, 3)};
  EXPECT_EQ(kernels, want) << "other streams, steps and kernels of no step stay";
}

TEST(Trace, TakesTheSpansOfThreads) {
  const SpanName outer("trace test outer"), inner("trace test inner");
  const ThreadSpans main{"main",
                         70,
                         {{.begin_ns = 1100, .end_ns = 1900, .name = outer.id(), .kind = SpanKind::batch},
                          {.begin_ns = 1200, .end_ns = 1300, .name = inner.id(), .step = 3, .depth = 1}},
                         2};
  const ThreadSpans loader{"loader 1", 71, {{.begin_ns = 1000, .end_ns = 1001, .name = inner.id()}}, 1};
  Trace trace{.lanes = {{"stream 7", true, 1}, {"main", false, 0}, {"main", false, 1, 70}}};
  add_spans(trace, {loader, main}, 1000, 1);
  add_spans(trace, {main}, 1000, 1);
  ASSERT_EQ(trace.lanes.size(), 5u) << "'main' of rank 1 was there; the second one is another thread";
  EXPECT_EQ(trace.lanes[3], (Trace::Lane{"loader 1", false, 1, 71}));
  EXPECT_EQ(trace.lanes[4], (Trace::Lane{"main", false, 1, 70}));
  ASSERT_EQ(trace.spans.size(), 5u);
  EXPECT_EQ(trace.spans[0].lane, 2) << "by lane";
  EXPECT_EQ(trace.spans[0].begin_ns, 100);
  EXPECT_EQ(trace.spans[0].end_ns, 900);
  EXPECT_EQ(trace.spans[0].kind, SpanKind::batch);
  EXPECT_EQ(trace.text(trace.spans[0].name), "trace test outer");
  EXPECT_EQ(trace.text(trace.spans[1].name), "trace test inner");
  EXPECT_EQ(trace.spans[1].step, 3);
  EXPECT_EQ(trace.spans[1].depth, 1);
  EXPECT_EQ(trace.spans[2].lane, 3);
  EXPECT_EQ(trace.spans[4].lane, 4);
  EXPECT_EQ(trace.names.size(), 2u);
  EXPECT_EQ(trace.dropped, 5);
}

}  // namespace
}  // namespace headroom
