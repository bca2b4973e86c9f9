// Event files of `train --tensorboard`: read by our own reader, and by TensorBoard itself where it is
// installed.
#include <csignal>
#include <numeric>
#include <thread>

#include "data/safetensors.h"
#include "report/testing/event_reader.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

Words small_training(const Words& more = {}) {
  return with({"train", "mlp:hidden=8", "--train-size", "600", "--test-size", "50", "--batch", "20"}, more);
}

std::vector<std::int64_t> steps_of(const ReadEvents& events, const std::string& tag) {
  std::vector<std::int64_t> steps;
  for (const auto& [step, value] : events.scalars.at(tag)) steps.push_back(step);
  return steps;
}

std::vector<std::int64_t> first_steps(std::int64_t count) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(count));
  std::iota(steps.begin(), steps.end(), 1);
  return steps;
}

void expect_same(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(std::tuple(a.min, a.max, a.sum, a.sum_squares, a.limits, a.counts),
            std::tuple(b.min, b.max, b.sum, b.sum_squares, b.limits, b.counts));
}

struct CliTensorBoard : ProgramTest {
  ReadEvents only_events(const std::string& folder) const {
    const auto all = event_files(file(folder));
    EXPECT_EQ(all.size(), 1u);
    return ReadEvents(all.at(0));
  }
  // The last histograms are those of the weights that were saved.
  void expect_histograms_of(const ReadEvents& events, const std::string& weights) const {
    const TensorFile saved = read_safetensors(file(weights));
    EXPECT_EQ(events.histograms.size(), saved.tensors.size());
    for (const NamedTensor& tensor : saved.tensors)
      expect_same(events.histograms.at("weights/" + tensor.name).back().second, histogram_of(tensor));
  }
};

TEST_F(CliTensorBoard, HoldsWhatTheRunReports) {
  const Json json =
      succeed_json(small_training({"--epochs", "2", "--lr", "0.1", "--schedule", "step:every=1,gamma=0.5",
                                   "--save", "w", "--tensorboard", "new/board"}));
  const ReadEvents events = only_events("new/board");
  EXPECT_EQ(events.version, "brain.Event:2");
  EXPECT_EQ(events.starts, std::vector<std::int64_t>{0});
  EXPECT_EQ(steps_of(events, "loss/step"), first_steps(60));
  EXPECT_FLOAT_EQ(float(events.scalars.at("loss/step")[0].second), json["first_loss"].get<float>());
  EXPECT_FLOAT_EQ(float(events.scalars.at("loss/step")[59].second), json["last_loss"].get<float>());
  auto expect = [&](const std::string& tag, float first, float second) {
    EXPECT_EQ(steps_of(events, tag), (std::vector<std::int64_t>{30, 60})) << tag;
    EXPECT_FLOAT_EQ(float(events.scalars.at(tag)[0].second), first) << tag;
    EXPECT_FLOAT_EQ(float(events.scalars.at(tag)[1].second), second) << tag;
  };
  const Json& epochs = json["epochs"];
  auto of = [&](int epoch, const char* path) {
    return epochs[epoch].at(Json::json_pointer(path)).get<float>();
  };
  expect("loss/epoch", of(0, "/loss"), of(1, "/loss"));
  expect("loss/test", of(0, "/test_loss"), of(1, "/test_loss"));
  expect("accuracy/train", of(0, "/accuracy/train"), of(1, "/accuracy/train"));
  expect("accuracy/test", of(0, "/accuracy/test"), of(1, "/accuracy/test"));
  expect("learning_rate", 0.1f, 0.05f);
  const auto& rates = events.scalars.at("images_per_second");
  const double seconds = 600 / rates[0].second + 600 / rates[1].second;
  EXPECT_NEAR(1200 / seconds, json["images_per_s"].get<double>(), 1e-3 * 1200 / seconds);
  expect_histograms_of(events, "w");
  ASSERT_EQ(events.texts.size(), 1u);
  const std::string text = events.texts.at("run").at(0).second;
  for (const char* part :
       {"mlp", "6,370 parameters", "glyphs", "--tensorboard new/board", "hidden", "linear+sigmoid"})
    EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in\n" << text;
}

TEST_F(CliTensorBoard, ANetworkWithoutClassesHasNoAccuracy) {
  succeed({"train", "autoencoder", "--train-size", "40", "--test-size", "20", "--batch", "20", "--epochs",
           "1", "--tensorboard", "b"});
  const ReadEvents events = only_events("b");
  EXPECT_TRUE(events.scalars.contains("loss/test"));
  EXPECT_FALSE(events.scalars.contains("accuracy/test"));
  EXPECT_FALSE(events.scalars.contains("accuracy/train"));
}

TEST_F(CliTensorBoard, AResumedRunGoesOnInTheSameFolder) {
  const Words words = {"--checkpoint-dir", "c", "--resume", "auto", "--tensorboard", "b"};
  succeed(small_training(with({"--epochs", "1"}, words)));
  succeed(small_training(with({"--epochs", "2"}, words)));
  const auto all = event_files(file("b"));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(steps_of(ReadEvents(all[0]), "loss/step"), first_steps(30));
  const ReadEvents second(all[1]);
  EXPECT_EQ(second.starts, std::vector<std::int64_t>{31});
  EXPECT_EQ(steps_of(second, "loss/step").front(), 31);
  EXPECT_EQ(steps_of(second, "loss/epoch"), std::vector<std::int64_t>{60});
}

TEST_F(CliTensorBoard, AnInterruptedRunLeavesAReadableFile) {
  for (const int signal : {SIGINT, SIGKILL}) {
    const std::string folder = signal == SIGINT ? "int" : "kill";
    const pid_t child = start({"train", "lenet5", "--train-size", "2000", "--test-size", "50", "--epochs",
                               "500", "--log-every", "1", "--tensorboard", folder});
    for (int i = 0; i < 3000 && read_file(err_).find("step 3:") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(child, signal);
    const Outcome outcome = finish(child);
    EXPECT_EQ(outcome.code, 128 + signal) << outcome.err;
    const ReadEvents events = only_events(folder);
    EXPECT_TRUE(events.texts.contains("run"));
    if (signal == SIGKILL) continue;  // loses at most the steps of the last second
    const std::vector<std::int64_t> steps = steps_of(events, "loss/step");
    EXPECT_EQ(steps, first_steps(std::ssize(steps)));
    EXPECT_NE(outcome.err.find(fmt::format("after step {};", steps.back())), std::string::npos)
        << outcome.err;
  }
}

TEST_F(CliTensorBoard, AFullDiskStopsTheRunAndKeepsItsResult) {
  const Outcome outcome = run_shell(
      "ulimit -f 4; exec \"$0\" train mlp:hidden=8 --train-size 600 --test-size 50 --batch 20 --epochs 9 "
      "--tensorboard b");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("accuracy "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("cannot write b/events.out.tfevents."), std::string::npos) << outcome.err;
  EXPECT_TRUE(only_events("b").texts.contains("run")) << "whole records stay";
}

// TensorBoard's own reader sees every number that ours sees.
TEST_F(CliTensorBoard, IsReadByTensorBoard) {
  if (finish(start_any({"/usr/bin/env", "python3", "-c", "import tensorboard"}, {})).code != 0)
    GTEST_SKIP() << "python3 has no tensorboard; scripts/setup test installs it where pip can";
  const Words words = {"--checkpoint-dir", "c", "--tensorboard", "b"};
  succeed(small_training(with({"--epochs", "2", "--checkpoint-every", "20", "--keep", "9"}, words)));
  const auto read = [&] {
    const Outcome outcome =
        finish(start_any({"/usr/bin/env", "python3", HEADROOM_SOURCE_DIR "/tests/read_events.py", "b"}, {}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  };
  const ReadEvents ours = only_events("b");
  const Json theirs = read();
  EXPECT_EQ(theirs["scalars"].get<ReadEvents::Points<double>>(), ours.scalars);
  EXPECT_EQ(theirs["texts"].get<ReadEvents::Points<std::string>>(), ours.texts);
  EXPECT_EQ(theirs["plugins"], Json({{"run", "text"}}));
  ASSERT_EQ(theirs["histograms"].size(), ours.histograms.size());
  for (const auto& [tag, points] : ours.histograms) {
    const Histogram& h = points.back().second;
    EXPECT_EQ(theirs["histograms"][tag].size(), 2u);
    EXPECT_EQ(theirs["histograms"][tag].back()[1],
              (Json{h.min, h.max, std::accumulate(h.counts.begin(), h.counts.end(), 0.0), h.sum,
                    h.sum_squares, h.limits, h.counts}));
  }
  // A run that goes on from an earlier checkpoint replaces what came after it.
  fs::remove(file("c/step-000000000060.safetensors"));
  succeed(small_training(with({"--epochs", "2", "--resume", "auto"}, words)));
  std::vector<std::int64_t> steps;
  const Json again = read();
  for (const Json& point : again["scalars"]["loss/step"]) steps.push_back(point[0]);
  EXPECT_EQ(steps, first_steps(60));
}

struct CliTensorBoardRanks : RanksProgramTest {};

TEST_F(CliTensorBoardRanks, OnlyTheFirstRankWritesAndSeesWholeWeights) {
  for (const char* parallel : {"data", "model"}) {
    const Words words =
        with({HEADROOM_PROGRAM}, small_training({"--epochs", "1", "--parallel", parallel, "--threads", "1",
                                                 "--tensorboard", parallel}));
    const Outcome outcome = run_in_ranks(2, words, folder(), environment());
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto all = event_files(file(parallel));
    ASSERT_EQ(all.size(), 1u);
    const ReadEvents events(all[0]);
    EXPECT_EQ(steps_of(events, "loss/step"), first_steps(30));
    double parameters = 0;
    for (const auto& [tag, points] : events.histograms)
      for (const double count : points.at(0).second.counts) parameters += count;
    EXPECT_EQ(parameters, 784 * 8 + 8 + 8 * 10 + 10) << parallel;
  }
}

}  // namespace
}  // namespace headroom::testing
