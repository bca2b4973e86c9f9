// headroom tta: trainings to a target, and their statistics.
#include <cmath>

#include "base/json.h"
#include "base/statistics.h"
#include "data/image.h"
#include "data/testing/pictures.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliTta : public ProgramTest {
 protected:
  CliTta() { know_machine(1); }
  static Words tta(const Words& more) {
    return with({"tta", "mlp:hidden=16", "--train-size", "320", "--test-size", "200", "--batch", "32",
                 "--threads", "1"},
                more);
  }
};

TEST_F(CliTta, CountsRunsEpochsAndSecondsToTheTarget) {
  const Json json = succeed_json(tta({"--target", "0.5", "--runs", "3", "--epochs", "6", "--eval-every", "5",
                                      "--seed", "7", "--lr", "0.1"}));
  EXPECT_EQ(json.at("target"), 0.5);
  EXPECT_EQ(json.at("reached"), 3);
  EXPECT_EQ(json.at("seconds_include_tests"), false);
  ASSERT_EQ(json.at("runs").size(), 3u);
  std::vector<double> seconds;
  for (int i = 0; i < 3; ++i) {
    const Json& run = json["runs"][static_cast<std::size_t>(i)];
    EXPECT_EQ(run.at("seed"), 7 + i);
    EXPECT_EQ(run.at("reached"), true);
    EXPECT_EQ(run.at("steps").get<int>() % 5, 0);
    EXPECT_EQ(run.at("epochs").get<double>(), run.at("steps").get<double>() / 10);
    EXPECT_GE(run.at("accuracy"), 0.5);
    EXPECT_EQ(run.at("curve").back().at("step"), run.at("steps")) << "it stops there";
    for (const Json& test : run.at("curve"))
      if (test != run.at("curve").back()) {
        EXPECT_LT(test.at("accuracy"), 0.5);
      }
    seconds.push_back(run.at("train_s"));
  }
  EXPECT_NE(json["runs"][0].at("curve"), json["runs"][1].at("curve")) << "another seed, another run";
  const Json& first = json.at("statistics")[0];
  const Statistics wanted = statistics_of(seconds);
  EXPECT_EQ(first.at("quantity"), "seconds to 0.5");
  EXPECT_EQ(first.at("runs"), 3);
  EXPECT_NEAR(first.at("mean"), wanted.mean, 1e-9);
  EXPECT_NEAR(first.at("deviation"), wanted.deviation, 1e-9);
  EXPECT_NEAR(first.at("variation_percent"), 100 * *wanted.variation, 1e-6);
}

TEST_F(CliTta, CountsTestsIfAsked) {
  const Json json =
      succeed_json(tta({"--target", "0.3", "--runs", "2", "--epochs", "6", "--lr", "0.1", "--count-eval"}));
  double sum = 0;
  for (const Json& run : json.at("runs"))
    sum += run.at("train_s").get<double>() + run.at("eval_s").get<double>();
  EXPECT_EQ(json.at("seconds_include_tests"), true);
  EXPECT_NEAR(json.at("statistics")[0].at("mean"), sum / 2, 1e-9);
}

TEST_F(CliTta, PrintsTablesAndTheReference) {
  const Outcome outcome = succeed(tta({"--target", "0.3", "--runs", "2", "--epochs", "6", "--lr", "0.1",
                                       "--reference", "0.045", "--svg", "c.svg", "--record", "r.json"}));
  for (const char* part :
       {"mlp on glyphs to an accuracy of 0.3, 2 runs, seeds from 0", "seconds to 0.3", "epochs to 0.3",
        "final accuracy", "variation %", "reference %", "4.50", "count training alone"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_NE(read_file(file("c.svg")).find("seed 1"), std::string::npos);
  const Json record = Json::parse(read_file(file("r.json")));
  EXPECT_EQ(record.at("verb"), "tta");
  EXPECT_EQ(record.at("tables").size(), 2u);
}

TEST_F(CliTta, SaysWhoDidNotReachTheTarget) {
  const Words hard = tta({"--target", "0.999", "--runs", "2", "--epochs", "1"});
  const Outcome none = run(hard);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.out.find("2 of 2 runs did not reach 0.999"), std::string::npos) << none.out;
  EXPECT_NE(none.err.find("no run reached an accuracy of 0.999; the best had 0."), std::string::npos)
      << none.err;
  EXPECT_NE(none.err.find("--epochs"), std::string::npos);
  const Json json = Json::parse(run(with(hard, {"--json"})).out);
  EXPECT_EQ(json.at("reached"), 0);
  EXPECT_EQ(json.at("statistics")[0].at("runs"), 0);
  EXPECT_EQ(json.at("statistics")[2].at("runs"), 2) << "of the final accuracy";
}

// One setting learns, the other cannot: the statistics are of the runs that reached the target.
TEST_F(CliTta, ComparesSettings) {
  const Json json =
      succeed_json(tta({"--target", "0.4", "--runs", "2", "--epochs", "5", "--lr", "0.1,0.00001"}));
  EXPECT_EQ(json.at("reached"), 2);
  ASSERT_EQ(json.at("comparison").size(), 2u);
  EXPECT_EQ(json["comparison"][0].at("setting"), "lr 0.1");
  EXPECT_EQ(json["comparison"][1].at("verdict"), "too few runs");
  EXPECT_EQ(json.at("statistics")[0].at("runs"), 2);
  EXPECT_EQ(json.at("statistics")[3].at("runs"), 0);
  const Json both =
      succeed_json(tta({"--target", "0.4", "--runs", "2", "--epochs", "9", "--lr", "0.1,0.05"}));
  EXPECT_GT(both["comparison"][1].at("times_first"), 0.0);
  EXPECT_LT(both["comparison"][1].at("low_s"), both["comparison"][1].at("high_s"));
}

TEST_F(CliTta, TestsEveryModelOnOutsidePictures) {
  if (!can_decode(ImageFormat::png)) GTEST_SKIP() << "built without libpng";
  put("wild/0/a.png", grey_png(28, 28, 0));
  put("wild/1/b.png", grey_png(28, 28, 255));
  const Json json = succeed_json(
      tta({"--target", "0.3", "--runs", "2", "--epochs", "6", "--lr", "0.1", "--wild", "images:wild"}));
  for (const Json& run : json.at("runs")) {
    const double doubled = 2 * run.at("wild").get<double>();
    EXPECT_EQ(doubled, std::round(doubled)) << "of two pictures";
  }
  EXPECT_EQ(json.at("statistics")[3].at("quantity"), "wild accuracy");
  EXPECT_EQ(json.at("statistics")[3].at("runs"), 2);
}

TEST_F(CliTta, TakesTheTargetOfARecipe) {
  put("mine.json",
      R"({"model": "mlp:hidden=16", "data": "glyphs", "train_size": 320, "test_size": 200, "batch": 32,
          "epochs": 6, "lr": 0.1, "augment": "crop:1", "target": 0.3})");
  const Json json = succeed_json({"tta", "--recipe", "mine.json", "--runs", "2", "--threads", "1"});
  EXPECT_EQ(json.at("target"), 0.3);
  EXPECT_EQ(json.at("reached"), 2);
}

}  // namespace
}  // namespace headroom::testing
