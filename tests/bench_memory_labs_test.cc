// headroom bench vadd, copy and alloc, from the user's side.
#include "base/json.h"
#include "report/record.h"
#include "report/testing/xml_check.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

using BenchVadd = ProgramTest;

TEST_F(BenchVadd, TimesTheCpuAndListsWhatTheGpuWouldDo) {
  const Json json =
      succeed_json({"bench", "vadd", "--elements", "20k,1000", "--threads", "2", "--device", "cpu"});
  ASSERT_EQ(json.at("additions").size(), 24u);
  int timed = 0, listed = 0;
  for (const Json& row : json.at("additions")) {
    if (row.contains("why_not")) {
      EXPECT_NE(row.at("why_not"), "");
      EXPECT_FALSE(row.contains("add_ms"));
      ++listed;
      continue;
    }
    EXPECT_NEAR(row.at("gb_per_s"), 12e-6 * row.at("elements").get<double>() / row.at("add_ms").get<double>(),
                1e-6);
    EXPECT_EQ(row.at("checked"), true);
    ++timed;
  }
  EXPECT_EQ(timed, 4);
  EXPECT_EQ(listed, 20);
}

TEST_F(BenchVadd, WritesTablesChartsAndARecord) {
  const Outcome outcome = succeed(
      {"bench", "vadd", "--elements", "1M,5M", "--svg", "v.svg", "--record", "r.json", "--device", "cpu"});
  for (const char* part : {"RTX 8000 add", "391.75", "Not runnable here", "1,000,000"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << outcome.out;
  for (const char* name : {"v-explicit.svg", "v-managed.svg"}) {
    const std::string picture = read_file(folder() / name);
    EXPECT_EQ(xml_problem(picture), "");
    EXPECT_NE(picture.find("CPU, 1 thread"), std::string::npos);
    EXPECT_NE(picture.find("log scale"), std::string::npos);
  }
  EXPECT_EQ(read_record(folder() / "r.json").verb, "bench vadd");
  const Outcome csv = succeed({"bench", "vadd", "--elements", "1000", "--csv"});
  EXPECT_TRUE(csv.out.starts_with("elements,runs_on,memory,add_ms,")) << csv.out;
}

// One element: shorter than the clock's tick, and still a time above 0.
TEST_F(BenchVadd, ASingleElementHasATimeAndACurve) {
  const Outcome outcome = succeed({"bench", "vadd", "--elements", "1", "--svg", "one", "--json"});
  EXPECT_GT(Json::parse(outcome.out).at("additions")[0].at("add_ms"), 0);
  EXPECT_TRUE(std::filesystem::exists(folder() / "one-explicit.svg"));
}

using BenchCopy = ProgramTest;

TEST_F(BenchCopy, TimesEverySizeAndDrawsIt) {
  const Words words = {"bench", "copy", "--max-bytes", "70000", "--threads", "2", "--device", "cpu"};
  const Json json = succeed_json(with(words, {"--svg", "c.svg"}));
  ASSERT_EQ(json.at("copies").size(), 6u);  // 4, 16 and 64 KiB, by one thread and by two
  for (const Json& copy : json.at("copies")) {
    const double ms = copy.at("ms").at("median"), bytes = copy.at("bytes");
    EXPECT_NEAR(copy.at("gb_per_s"), bytes / ms / 1e6, 1e-6 * bytes / ms);
  }
  EXPECT_EQ(xml_problem(read_file(folder() / "c.svg")), "");
  const Outcome table = succeed(words);
  for (const char* part : {"memcpy, 2 threads: latency", "bandwidth", "65,536", "% of memory"})
    EXPECT_NE(table.out.find(part), std::string::npos) << part << table.out;
  const std::string csv = succeed(with(words, {"--csv"})).out;
  EXPECT_TRUE(csv.starts_with("bytes,path,memory,us,")) << csv;
  EXPECT_NE(csv.find(",percent_of_memory,"), csv.npos) << csv;
  EXPECT_TRUE(json.at("copies")[0].contains("percent_of_memory"));
}

using BenchAlloc = ProgramTest;

TEST_F(BenchAlloc, TimesAProductOfAnySizeAndAStepBothWays) {
  const Words words = {"bench", "alloc", "--m",     "30",           "--n",     "20",
                       "--k",   "10",    "--model", "mlp:hidden=8", "--batch", "16"};
  const Json json = succeed_json(with(words, {"--svg", "a.svg", "--record", "r.json"}));
  EXPECT_EQ(json.at("precision"), "fp64");
  ASSERT_EQ(json.at("products").size(), 2u);
  EXPECT_TRUE(json.at("products")[0].contains("allocate_ms"));
  EXPECT_FALSE(json.at("products")[1].contains("allocate_ms"));
  ASSERT_EQ(json.at("steps").size(), 2u);
  EXPECT_EQ(xml_problem(read_file(folder() / "a.svg")), "");
  EXPECT_EQ(read_record(folder() / "r.json").tables.size(), 2u);
  const Outcome table = succeed(words);
  EXPECT_EQ(table.out.find("ublished"), std::string::npos) << "figures of other sizes: " << table.out;
}

TEST_F(BenchAlloc, TheCoursesFiguresStandBesideItsSizes) {
  const Outcome table = succeed({"bench", "alloc"});
  for (const char* part :
       {"800 x 1000 x 784", "800 x 10 x 1000", "149.50", "210.40", "636.40", "219.85", "226.80"})
    EXPECT_NE(table.out.find(part), std::string::npos) << part << table.out;
}

}  // namespace
}  // namespace headroom::testing
