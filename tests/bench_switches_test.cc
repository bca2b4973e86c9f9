// headroom bench switches, from the user's side.
#include "base/json.h"
#include "report/record.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

const Words kSmall = {"bench", "switches", "--model", "mlp:hidden=8", "--batch",
                      "20",    "--images", "60",      "--rounds",     "1"};

void expect_consistent(const Json& json) {
  double nothing = 0;
  for (const Json& t : json.at("timings")) {
    const double ms = t.at("epoch_ms");
    if (t.at("setting") == "nothing") nothing = ms;
    EXPECT_GT(ms, 0);
    EXPECT_NEAR(t.at("gain_over_nothing"), nothing / ms, 1e-9 * nothing / ms);
    EXPECT_NEAR(t.at("images_per_s"), 6e4 / ms, 1e-6 * 6e4 / ms);
    EXPECT_EQ(t.contains("times_slower_without"), t.at("setting").get<std::string>().starts_with("all but"));
  }
}

using BenchSwitches = ProgramTest;

TEST_F(BenchSwitches, ACpuMeasuresWhatItHasAndListsTheRest) {
  const Json json = succeed_json(with(kSmall, {"--threads", "2", "--record", "r.json"}));
  ASSERT_EQ(json.at("timings").size(), 8u);  // nothing, all, and three switches both ways
  expect_consistent(json);
  EXPECT_EQ(json.at("timings")[0].at("on").size(), 0u);
  EXPECT_EQ(json.at("timings")[4].at("on").size(), 3u);
  EXPECT_EQ(json.at("not_runnable").size(), 7u);
  EXPECT_EQ(read_record(folder() / "r.json").verb, "bench switches");
  const std::string text = succeed(with(kSmall, {"--threads", "2"})).out;
  for (const char* part :
       {"only kernels", "all but loader", "without it", "Not runnable here: graph, streams"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

struct BenchSwitchesOnRanks : RanksProgramTest {};

TEST_F(BenchSwitchesOnRanks, OneRankAloneThenBothTogether) {
  const Outcome outcome = run_in_ranks(
      2, with({HEADROOM_PROGRAM}, with(kSmall, {"--threads", "1", "--json"})), folder(), environment());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome.out;
  expect_consistent(json);
  std::map<int, int> rows;
  bool blocking = false;
  for (const Json& t : json.at("timings")) {
    ++rows[t.at("ranks").get<int>()];
    blocking = blocking || (t.at("ranks") == 2 && t.at("setting") == "all but exchange");
  }
  EXPECT_EQ(rows, (std::map<int, int>{{1, 6}, {2, 8}}));
  EXPECT_TRUE(blocking);
}

}  // namespace
}  // namespace headroom::testing
