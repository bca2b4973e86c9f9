// headroom diff: records of real runs, and of runs whose times a test changed.
#include "base/json.h"
#include "report/record.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliDiff : public ProgramTest {
 protected:
  // A real record; every sample becomes `factor` times a steady time.
  void keep(const std::string& name, double factor, const std::string& layer = "") const {
    static const RunRecord real = [&] {
      succeed({"train", "mlp:hidden=16", "--train-size", "256", "--test-size", "64", "--batch", "16",
               "--record", "r"});
      RunRecord record = read_record(file("r"));
      std::filesystem::remove(file("r"));
      return record;
    }();
    RunRecord record = real;
    const auto steady = [](std::vector<double>& list, double seconds) {
      for (std::size_t i = 0; i < list.size(); ++i) list[i] = seconds * (1 + 1e-4 * double(i * 7 % 10));
    };
    steady(record.measurement->run_s, 2e-3 * factor);
    for (std::size_t s = 0; s < record.plan->steps.size(); ++s) {
      const bool slowed = layer.empty() || record.plan->steps[s].layer == layer;
      steady(record.measurement->steps[s].seconds, 1e-5 * (slowed ? factor : 1));
    }
    if (!layer.empty()) steady(record.measurement->run_s, 2e-3);
    put(name, to_json(record).dump());
  }
};

TEST_F(CliDiff, ComparesTwoRuns) {
  keep("a.json", 1), keep("b.json", 1.2);
  const std::string text = succeed({"diff", "a.json", "b.json"}).out;
  for (const char* part :
       {"before  a.json: train, mlp, batch 16", "layer ", "training step", "20.0", "slower"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("The runs differ"), std::string::npos) << text;
  const Json json = succeed_json({"diff", "a.json", "b.json"});
  EXPECT_EQ(json["whole"]["verdict"], "slower");
  EXPECT_NEAR(json["whole"]["percent"], 20, 0.01);
  EXPECT_GT(json["steps"].size(), json["layers"].size());
  EXPECT_EQ(succeed_json({"diff", "b.json", "a.json"})["whole"]["verdict"], "faster");
  const Json same = succeed_json({"diff", "a.json", "a.json"});
  EXPECT_EQ(same["whole"]["verdict"], "same");
}

// Counters as a GPU leaves them in records.
TEST_F(CliDiff, RatiosOfCountersAreChartedRunByRun) {
  for (const char* name : {"a.json", "b.json", "c.json"}) {
    keep(name, 1);
    RunRecord record = read_record(file(name));
    for (Measurement::Step& step : record.measurement->steps)
      step.counters = {{"1:instructions", 100.0 * name[0]}, {"1:cycles", 100}};
    put(name, to_json(record).dump());
  }
  const Words words = {"diff", "a.json", "b.json", "c.json", "--without", "b.json"};
  const Json json = succeed_json(with(words, {"--svg", "r.svg"}));
  EXPECT_EQ(json.at("ratios").at(0).at("a.json"), double('a'));
  EXPECT_EQ(json.at("ratios").at(0).at("c.json"), double('c'));
  EXPECT_FALSE(json.at("ratios").at(0).contains("b.json"));
  const std::string chart = read_file(file("r-instructions_per_cycle.svg"));
  EXPECT_NE(chart.find("c.json"), chart.npos);
  EXPECT_EQ(chart.find("b.json"), chart.npos);
  EXPECT_NE(succeed({"diff", "a.json", "b.json", "c.json"}).out.find("per cycle"), std::string::npos);
  keep("plain.json", 1);
  const Outcome none = run({"diff", "plain.json", "plain.json", "--svg", "r.svg"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("none of the runs counted"), none.err.npos) << none.err;
}

TEST_F(CliDiff, ComparesRealRunsOfOtherBatches) {
  for (const char* batch : {"16", "32"})
    succeed({"train", "mlp:hidden=16", "--train-size", "256", "--test-size", "64", "--batch", batch,
             "--record", std::string(batch) + ".json"});
  const std::string text = succeed({"diff", "16.json", "32.json", "--kernels"}).out;
  EXPECT_NE(text.find("The runs differ: batch 16 and 32."), std::string::npos) << text;
  EXPECT_NE(text.find("cpu:"), std::string::npos) << text;
}

TEST_F(CliDiff, KernelsListsThoseThatDidNotChangeToo) {
  keep("a.json", 1), keep("b.json", 1.2, "hidden");
  const auto lines = [&](const Words& more) {
    const std::string text = succeed(with({"diff", "a.json", "b.json"}, more)).out;
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto changed = lines({}), all = lines({"--kernels"});
  EXPECT_GT(all, changed);
  EXPECT_LT(lines({"--kernels", "--top", "1"}), all);
  EXPECT_LT(lines({"--summary"}), changed);
  EXPECT_EQ(lines({"--sort", "percent"}), changed);
}

TEST_F(CliDiff, FailsIfTheStepIsTooSlow) {
  keep("a.json", 1), keep("b.json", 1.2);
  for (const char* limit : {"5%", "0.05", "19%"}) {
    const Outcome outcome = run({"diff", "a.json", "b.json", "--fail-over", limit});
    EXPECT_EQ(outcome.code, 1) << limit;
    EXPECT_NE(outcome.out.find("slower"), std::string::npos) << "the table is printed nevertheless";
    EXPECT_NE(outcome.err.find("b.json: training step is 20.0 % slower"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  for (const char* limit : {"21%", "0.5"}) succeed({"diff", "a.json", "b.json", "--fail-over", limit});
  succeed({"diff", "b.json", "a.json", "--fail-over", "5%"});
  EXPECT_EQ(run({"diff", "a.json", "b.json", "--json", "--fail-over", "5%"}).code, 1);
}

TEST_F(CliDiff, FailsForASlowLayerOnlyIfAsked) {
  keep("a.json", 1), keep("b.json", 1.5, "hidden");
  succeed({"diff", "a.json", "b.json", "--fail-over", "5%"});
  const Outcome outcome = run({"diff", "a.json", "b.json", "--fail-over", "5%", "--layers"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("b.json: hidden is"), std::string::npos) << outcome.err;
}

// One sample could be noise: the gate stays open, and says why.
TEST_F(CliDiff, NoiseDoesNotFailButIsMentioned) {
  keep("a.json", 1), keep("b.json", 1.2);
  Json few = Json::parse(read_file(file("b.json")));
  few["measurement"]["run_us"] = {2400};
  put("b.json", few.dump());
  const Outcome outcome = succeed({"diff", "a.json", "b.json", "--fail-over", "5%"});
  EXPECT_NE(outcome.err.find("may be noise"), std::string::npos) << outcome.err;
}

TEST_F(CliDiff, SaysHowManyRunsWereGiven) {
  EXPECT_NE(run({"diff"}).err.find("none was given"), std::string::npos);
  EXPECT_NE(run({"diff", "a.json"}).err.find("only one was given"), std::string::npos);
}

TEST_F(CliDiff, ThreeRunsAreOneTable) {
  keep("a.json", 1), keep("b.json", 1.2), keep("c.json", 0.5);
  const Json json = succeed_json({"diff", "a.json", "b.json", "c.json"});
  ASSERT_EQ(json["runs"].size(), 3u);
  EXPECT_EQ(json["runs"][0]["model"], "mlp");
  EXPECT_EQ(json["runs"][1]["verdict"], "slower");
  EXPECT_EQ(json["runs"][2]["verdict"], "faster");
  const std::string csv = succeed({"diff", "a.json", "b.json", "c.json", "--csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4) << csv;
  const Outcome outcome = run({"diff", "a.json", "b.json", "c.json", "--fail-over", "5%"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("b.json"), std::string::npos) << outcome.err;
  succeed({"diff", "a.json", "b.json", "c.json", "--fail-over", "5%", "--without", "./b.json"});
  EXPECT_TRUE(succeed_json({"diff", "a.json", "b.json", "c.json", "--without", "b.json"}).contains("whole"));
}

TEST_F(CliDiff, AFolderWithARecordIsARun) {
  std::filesystem::create_directory(file("run1"));
  keep("run1/record.json", 1), keep("b.json", 1.2);
  EXPECT_EQ(succeed_json({"diff", "run1", "b.json"})["whole"]["verdict"], "slower");
}

TEST_F(CliDiff, BenchmarksAreComparedByTheirTables) {
  for (const char* name : {"a.json", "b.json"})
    succeed({"bench", "forward", "mlp:hidden=16", "--batch", "4", "--seconds", "0.01", "--record", name});
  const Json json = succeed_json({"diff", "a.json", "b.json"});
  EXPECT_EQ(json["tables"][0]["time"], "forward_ms");
  Json slow = Json::parse(read_file(file("a.json")));
  for (Json& cell : slow["tables"][0]["rows"][0]["cells"])
    if (cell.is_number_float()) cell = cell.get<double>() * 2;
  put("slow.json", slow.dump());
  EXPECT_EQ(run({"diff", "a.json", "slow.json", "--fail-over", "50%"}).code, 1);
  Json doubted = Json::parse(read_file(file("a.json")));
  Json& table = doubted["tables"][0];
  for (std::size_t i = 0; i < table["columns"].size(); ++i)
    if (table["columns"][i]["key"].get<std::string>().ends_with("predicted_ms"))
      table["rows"][0]["cells"][i] = 1e6;
  put("doubted.json", doubted.dump());
  succeed({"diff", "a.json", "doubted.json", "--fail-over", "5%"});
  EXPECT_EQ(run({"diff", "a.json", "b.json", "slow.json"}).code, 2) << "two at a time";
  keep("train.json", 1);
  expect_refused({"diff", "a.json", "train.json"}, {"no times in common"});
}

}  // namespace
}  // namespace headroom::testing
