// headroom bench allreduce, from the user's side.
#include "base/json.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

class BenchAllReduce : public ProgramTest {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  }
  Outcome on_ranks(int ranks, Words more) const {
    Words words = {HEADROOM_PROGRAM, "bench", "allreduce"};
    words.insert(words.end(), more.begin(), more.end());
    return run_in_ranks(ranks, words, folder(), environment());
  }
  Json here() const { return Json::parse(read_file(temporary_.path() / "cache/machines/here.json")); }
};

TEST_F(BenchAllReduce, TimesEverySizeBesidePlainMpiAndKeepsTheLink) {
  for (int ranks : {2, 3}) {
    const Outcome outcome = on_ranks(ranks, {"--max-bytes", "1048576", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.out;
    EXPECT_EQ(json.at("ranks"), ranks);
    EXPECT_EQ(json.at("communicator"), "mpi");
    ASSERT_EQ(json.at("sizes").size(), 12U);  // 512 to 1,048,576
    for (const Json& size : json.at("sizes")) {
      const double ms = size.at("ms").at("median"), bytes = size.at("bytes");
      EXPECT_GT(ms, 0);
      EXPECT_GT(size.at("plain_mpi_ms").at("median"), 0);
      EXPECT_NEAR(size.at("bus_gb_per_s"), 2.0 * (ranks - 1) / ranks * bytes / ms / 1e6, 1e-6);
    }
    EXPECT_EQ(json.at("kept_as"), "here");
    const Json link = here().at("rank_link");
    EXPECT_EQ(link.at("latency_s"), json.at("link").at("latency_s"));
    EXPECT_EQ(link.at("bytes_per_s"), json.at("link").at("bytes_per_s"));
    EXPECT_EQ(link.at("ranks"), ranks);
  }
  EXPECT_NE(succeed({"machine", "show", "here"}).out.find("all-reduce latency"), std::string::npos);
  succeed({"roofline", "--device", "cpu", "--seconds", "0.1"});
  EXPECT_TRUE(here().contains("rank_link")) << "the next roofline has dropped it";
}

TEST_F(BenchAllReduce, TheFirstRankPrintsATable) {
  std::filesystem::remove(temporary_.path() / "cache/machines/here.json");
  const Outcome outcome = on_ranks(2, {"--max-bytes", "1048576"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::size_t first = outcome.out.find("plain MPI us");
  ASSERT_NE(first, std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("plain MPI us", first + 1), std::string::npos) << "both ranks print";
  EXPECT_NE(outcome.out.find("headroom roofline first"), std::string::npos) << outcome.out;
}

TEST_F(BenchAllReduce, LatencyAloneIsNotKept) {
  const Outcome outcome = on_ranks(2, {"--max-bytes", "1024"});
  EXPECT_NE(outcome.out.find("show only latency"), std::string::npos) << outcome.out;
  EXPECT_FALSE(here().contains("rank_link"));
}

TEST_F(BenchAllReduce, AloneItSaysHowToStartIt) {
  expect_refused({"bench", "allreduce"}, {"mpirun -n 2 headroom bench allreduce"});
  expect_refused({"bench", "allreduce", "--max-bytes", "100"}, {"--max-bytes is 100"});
}

}  // namespace
}  // namespace headroom::testing
