#include "report/trace_chrome.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "report/testing/random_trace.h"
#include "report/testing/trace_nesting.h"

namespace headroom::testing {
namespace {

std::int64_t ns_of(const Json& micros) { return std::llround(1000 * micros.get<double>()); }

// Reads the file as its viewers do, and refuses what they would.
class ChromeReader {
 public:
  explicit ChromeReader(const std::string& text) : json_(parse_object(text, "a Chrome trace")) {}

  ReadTrace read() {
    for (const Json& event : json_.at("traceEvents")) {
      const std::string type = event.at("ph");
      if (type == "M") add_name(event);
    }
    for (const Json& event : json_.at("traceEvents")) {
      const std::string type = event.at("ph");
      if (type == "X") add_slice(event);
      if (type == "C") add_point(event);
    }
    for (const Json& event : json_.at("traceEvents")) {
      const std::string type = event.at("ph");
      if (type == "s") trace_.flows[event.at("id")].first = slice_at(event);
      if (type == "f") trace_.flows[event.at("id")].second = slice_at(event);
      if (type == "f" && event.at("bp") != "e") throw std::runtime_error("an arrow to the next slice");
      if (std::string("MXCsf").find(type) == std::string::npos) throw std::runtime_error("type " + type);
    }
    return std::move(trace_);
  }

 private:
  void add_name(const Json& event) {
    if (event.at("name") == "process_name") processes_[event.at("pid")] = event.at("args").at("name");
    if (event.at("name") == "thread_name")
      threads_[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  }

  void add_slice(const Json& event) {
    const std::string thread = threads_.at({event.at("pid"), event.at("tid")});
    ReadSlice slice{processes_.at(event.at("pid")), thread, event.at("name"), ns_of(event.at("ts")), 0};
    slice.end_ns = slice.begin_ns + ns_of(event.at("dur"));
    EXPECT_NE(event.at("cat"), "");
    if (event.contains("args"))
      for (const auto& [key, value] : event.at("args").items())
        slice.details[key] = value.is_string() ? value.get<std::string>() : value.dump();
    by_thread_[event.at("tid")].push_back(slice);
    trace_.slices.push_back(slice);
  }

  void add_point(const Json& event) {
    ASSERT_EQ(event.at("args").size(), 1u);
    const auto item = event.at("args").items().begin();
    trace_.curves[event.at("name").get<std::string>() + " [" + item.key() + "]"].push_back(
        {ns_of(event.at("ts")), item.value()});
  }

  // The innermost slice around the end of an arrow: the last that has begun and not ended.
  ReadSlice slice_at(const Json& event) const {
    const std::int64_t at = ns_of(event.at("ts"));
    const ReadSlice* found = nullptr;
    for (const ReadSlice& slice : by_thread_.at(event.at("tid")))
      if (slice.begin_ns <= at && at <= slice.end_ns) found = &slice;
    if (found == nullptr) throw std::runtime_error("an arrow without a slice");
    return *found;
  }

  const Json json_;
  std::map<int, std::string> processes_;
  std::map<std::pair<int, int>, std::string> threads_;
  std::map<int, std::vector<ReadSlice>> by_thread_;
  ReadTrace trace_;
};

TEST(ChromeTrace, HoldsTheTrace) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const RandomTrace random(seed);
    const ReadTrace read = ChromeReader(chrome_trace(trace_tracks(random.trace, random.extras()))).read();
    EXPECT_EQ(sorted_lines(read.slices), sorted_lines(slices_of(random.trace))) << seed;
  }
}

TEST(ChromeTrace, IsATreePerThread) {
  RandomTrace random(3);
  for (std::size_t i = 0; i < random.trace.lanes.size(); ++i)
    random.trace.lanes[i].name += std::to_string(i);  // threads of one name would look like one
  const ReadTrace read = ChromeReader(chrome_trace(trace_tracks(random.trace))).read();
  EXPECT_EQ(check_nesting(read.slices), "");
}

TEST(ChromeTrace, HasArrowsCurvesAndDetails) {
  Trace trace;
  trace.names = {"my kernel", "cudaLaunchKernel", "step"};
  trace.lanes = {{"main"}, {"stream 7", true}};
  trace.spans = {{{1000, 9000}, 0, 2, 0}};
  trace.calls = {{{1001, 2000}, 0, 1, 5}};
  trace.kernels = {{{3003, 4000}, 1, 0, 0}};
  trace.kernels[0].correlation = 5;
  const RandomTrace random(1);
  const std::string text = chrome_trace(trace_tracks(trace, random.extras()));
  EXPECT_NE(text.find("\"ts\": 3.003, \"dur\": 0.997"), std::string::npos) << "every nanosecond, exactly";
  const ReadTrace read = ChromeReader(text).read();
  ASSERT_EQ(read.flows.size(), 1u);
  EXPECT_EQ(read.flows.begin()->second.first.name, "cudaLaunchKernel");
  EXPECT_EQ(read.flows.begin()->second.second.name, "my kernel");
  EXPECT_EQ(read.flows.begin()->second.second.details.at("layer"), "conv1");
  EXPECT_EQ(read.curves.at("GPU 0 power [W]"), (std::vector<ReadPoint>{{0, 90}, {1000, 300.5}}));
  EXPECT_EQ(read.curves.at("loss [value]"), (std::vector<ReadPoint>{{1000, 2.5}, {3000, 1.25}}));
}

TEST(ChromeTrace, OfNothingIsValid) {
  EXPECT_TRUE(ChromeReader(chrome_trace(trace_tracks({}))).read().slices.empty());
}

}  // namespace
}  // namespace headroom::testing
