// headroom sweep: every combination, the best of them, and rows that are kept.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliSweep : public ProgramTest {
 protected:
  CliSweep() { know_machine(1); }
  static Words sweep(const Words& more) {
    return with({"sweep", "mlp", "--train-size", "320", "--test-size", "200", "--epochs", "2", "--batch",
                 "32", "--threads", "1"},
                more);
  }
};

TEST_F(CliSweep, TrainsEveryCombinationAsTrainDoes) {
  const Json json = succeed_json(sweep({"--lr", "0.001,0.1", "--hidden", "8,16"}));
  ASSERT_EQ(json.at("runs").size(), 4u);
  double best = 0;
  for (const Json& run : json["runs"]) {
    const Json alone =
        succeed_json({"train", "mlp", "--train-size", "320", "--test-size", "200", "--epochs", "2", "--batch",
                      "32", "--threads", "1", "--lr", run.at("lr"), "--hidden", run.at("hidden")});
    EXPECT_EQ(run.at("accuracy"), alone.at("accuracy").at("test"));
    EXPECT_EQ(run.at("loss"), alone.at("loss"));
    EXPECT_EQ(run.at("predicted_ms"), alone.at("predicted_ms"));
    EXPECT_EQ(run.at("memory_bytes"), alone.at("memory").at("allocated_bytes"));
    EXPECT_EQ(run.at("predicted_bytes"), alone.at("memory").at("predicted_bytes"));
    EXPECT_EQ(run.at("epoch_losses").size(), 2u);
    best = std::max(best, run.at("accuracy").get<double>());
  }
  EXPECT_EQ(json.at("best").at("accuracy"), best);
  ASSERT_EQ(json.at("effects").at("hidden").size(), 2u);
  EXPECT_EQ(json["effects"]["hidden"][0].at("runs"), 2);
  const double mean =
      (json["runs"][0].at("accuracy").get<double>() + json["runs"][2].at("accuracy").get<double>()) / 2;
  EXPECT_NEAR(json["effects"]["hidden"][0].at("accuracy"), mean, 1e-12);
}

TEST_F(CliSweep, PrintsATableAndCharts) {
  const Outcome outcome = succeed(sweep({"--lr", "0.01,0.1", "--optimizer", "sgd,adam:beta1=0.8,epsilon=1e-6",
                                         "--svg", "c.svg", "--record", "r.json"}));
  for (const char* part : {"mlp on glyphs, 4 trainings", "optimizer", "adam:beta1=0.8,epsilon=1e-6",
                           "best       ", "Effect of lr", "Effect of optimizer"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_NE(read_file(file("c-accuracy-lr.svg")).find("accuracy against lr"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file("c-loss.svg")));
  EXPECT_FALSE(std::filesystem::exists(file("c-accuracy-optimizer.svg"))) << "names are not on an axis";
  EXPECT_EQ(Json::parse(read_file(file("r.json"))).at("tables").size(), 3u);
}

TEST_F(CliSweep, KeepsFinishedRows) {
  const Words few = sweep({"--lr", "0.01,0.1", "--resume", "rows.jsonl"});
  const Json first = succeed_json(few);
  const Outcome again = succeed(with(few, {"--json"}));
  EXPECT_NE(again.err.find("2 of 2 runs are in rows.jsonl"), std::string::npos) << again.err;
  EXPECT_EQ(Json::parse(again.out), first) << "times and all";
  const Outcome more = succeed(sweep({"--lr", "0.01,0.05,0.1", "--resume", "rows.jsonl"}));
  EXPECT_NE(more.err.find("2 of 3 runs are in rows.jsonl"), std::string::npos) << more.err;
  const std::string rows = read_file(file("rows.jsonl"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3);

  put("rows.jsonl", rows.substr(0, rows.size() - 7));
  const Outcome damaged = succeed(sweep({"--lr", "0.01,0.05,0.1", "--resume", "rows.jsonl"}));
  EXPECT_NE(damaged.err.find("rows.jsonl: the last line is damaged"), std::string::npos) << damaged.err;
  EXPECT_NE(damaged.err.find("2 of 3 runs are in"), std::string::npos) << damaged.err;

  // Another setting is another run.
  const Outcome other = succeed(sweep({"--lr", "0.01", "--momentum", "0.5", "--resume", "rows.jsonl"}));
  EXPECT_EQ(other.err.find("runs are in"), std::string::npos) << other.err;
}

TEST_F(CliSweep, ARunThatFailsDoesNotEndTheOthers) {
  const Json json = succeed_json(sweep({"--lr", "0.1,1e30", "--pixels", "raw"}));
  ASSERT_EQ(json.at("runs").size(), 2u);
  EXPECT_FALSE(json["runs"][0].contains("problem"));
  EXPECT_NE(json["runs"][1].at("problem").get<std::string>(), "");
  EXPECT_EQ(json.at("best").at("lr"), "0.1");
  const Outcome all = run(sweep({"--lr", "1e30", "--pixels", "raw"}));
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(all.err.find("no training of the sweep ended well"), std::string::npos) << all.err;
}

TEST_F(CliSweep, TakesSeveralSeeds) {
  const Json json = succeed_json(sweep({"--hidden", "8,16", "--seeds", "2", "--seed", "5", "--jobs", "2"}));
  ASSERT_EQ(json.at("runs").size(), 4u);
  EXPECT_EQ(json["runs"][0].at("seed"), 5);
  EXPECT_EQ(json["runs"][1].at("seed"), 6);
  EXPECT_EQ(json["runs"][1].at("hidden"), "8");
  EXPECT_EQ(json.at("at_once"), 2);
  EXPECT_TRUE(json["effects"]["hidden"][0].contains("accuracy_deviation"));
}

TEST_F(CliSweep, ComparesTwoDevices) {
  const Json json = succeed_json(
      sweep({"--precision", "fp64", "--lr", "0.01,0.1", "--check-against", "cpu", "--perturb", "1e-9"}));
  for (const Json& run : json.at("runs")) {
    EXPECT_GT(run.at("weight_error"), 1e-12);
    EXPECT_LT(run.at("weight_error"), 1e-5);
    EXPECT_NEAR(run.at("accuracy"), run.at("other_accuracy"), 0.01);
  }
}

TEST_F(CliSweep, TakesImageSizes) {
  const Json json = succeed_json(sweep({"--hidden", "16", "--image-size", "14,28"}));
  EXPECT_LT(json["runs"][0].at("memory_bytes"), json["runs"][1].at("memory_bytes"));
  EXPECT_LT(json["runs"][0].at("predicted_ms"), json["runs"][1].at("predicted_ms"));
  expect_refused({"sweep", "lenet5", "--image-size", "48,64", "--train-size", "64", "--threads", "1"},
                 {"images of 1x48x48 do not fit the model's input"});
}

// The second row would take hours; the signal comes when the first is finished.
TEST_F(CliSweep, ASignalEndsItAndKeepsWhatIsFinished) {
  const pid_t child = start({"sweep", "mlp", "--epochs", "1,1000000", "--jobs", "1", "--threads", "1",
                             "--train-size", "320", "--test-size", "100", "--resume", "rows.jsonl"});
  for (int i = 0; i < 6000 && !std::filesystem::exists(file("rows.jsonl")); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGTERM);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("stopped; 1 finished run is in rows.jsonl"), std::string::npos) << outcome.err;
  const std::string rows = read_file(file("rows.jsonl"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1);
}

}  // namespace
}  // namespace headroom::testing
