#include "report/trace_speedscope.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "report/testing/random_trace.h"
#include "report/testing/trace_nesting.h"

namespace headroom::testing {
namespace {

// After the published definition of the format: src/lib/file-format-spec.ts of speedscope.
std::vector<ReadSlice> read_speedscope(const std::string& text) {
  const Json json = parse_object(text, "a speedscope file");
  EXPECT_EQ(json.at("$schema"), "https://www.speedscope.app/file-format-schema.json");
  const Json& frames = json.at("shared").at("frames");
  std::vector<ReadSlice> slices;
  for (const Json& profile : json.at("profiles")) {
    EXPECT_EQ(profile.at("type"), "evented");
    EXPECT_EQ(profile.at("unit"), "nanoseconds");
    const std::string name = profile.at("name");
    const std::size_t colon = name.find(": ");
    SliceStack stack;
    for (const Json& event : profile.at("events")) {
      const std::string frame = frames.at(event.at("frame").get<std::size_t>()).at("name");
      const std::int64_t at = event.at("at");
      EXPECT_GE(at, profile.at("startValue"));
      EXPECT_LE(at, profile.at("endValue"));
      const std::string type = event.at("type");
      if (type == "O") stack.begin(name.substr(0, colon), name.substr(colon + 2), frame, at);
      if (type == "C") stack.end(name.substr(0, colon), name.substr(colon + 2), frame, at);
      if (type != "O" && type != "C") throw std::runtime_error("type " + type);
    }
    stack.finish();
    EXPECT_EQ(check_nesting(stack.slices), "") << name;
    slices.insert(slices.end(), stack.slices.begin(), stack.slices.end());
  }
  return slices;
}

TEST(SpeedscopeTrace, HoldsTheTrace) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const RandomTrace random(seed);
    const std::vector<ReadSlice> read = read_speedscope(speedscope_trace(trace_tracks(random.trace)));
    EXPECT_EQ(sorted_lines(read), sorted_lines(slices_of(random.trace))) << seed;
  }
}

TEST(SpeedscopeTrace, NamesAFrameOnceAndLeavesIdleThreadsOut) {
  const RandomTrace random(2);
  const Json json = parse_object(speedscope_trace(trace_tracks(random.trace)), "a speedscope file");
  std::vector<std::string> names;
  for (const Json& frame : json.at("shared").at("frames")) names.push_back(frame.at("name"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const Json& profile : json.at("profiles")) EXPECT_FALSE(profile.at("events").empty());
}

TEST(SpeedscopeTrace, OfNothingIsValid) {
  EXPECT_TRUE(read_speedscope(speedscope_trace(trace_tracks({}))).empty());
}

}  // namespace
}  // namespace headroom::testing
