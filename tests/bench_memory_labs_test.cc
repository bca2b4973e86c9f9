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

}  // namespace
}  // namespace headroom::testing
