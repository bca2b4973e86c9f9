// Training through the program: results that must be equal to the bit, equal within rounding, or different.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "data/safetensors.h"
#include "support/program.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

struct CliTraining : ProgramTest {
  Words train(const std::string& model, const Words& more) const {
    Words words = {"train", model, "--train-size", "320", "--test-size", "200", "--epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The bytes of a run's final weights.
  std::string weights(Words words) const {
    words.insert(words.end(), {"--save", "w.safetensors"});
    succeed(words);
    return read_file(file("w.safetensors"));
  }
  using Values = std::map<std::string, std::vector<double>>;
  Values values(const Words& words) const {
    weights(words);
    Values all;
    for (const NamedTensor& t : read_safetensors(file("w.safetensors")).tensors)
      dispatch_float(t.type.dtype, [&]<class T>() {
        const T* from = reinterpret_cast<const T*>(t.bytes.data());
        all[t.name].assign(from, from + t.type.shape.numel());
      });
    return all;
  }
  // The max difference of any tensor, relative to that tensor's largest element.
  double distance(const Values& x, const Values& y) const {
    double worst = 0;
    for (const auto& [name, left] : x) {
      const auto& right = y.at(name);
      double largest = 0, difference = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        largest = std::max(largest, std::abs(left[i]));
        difference = std::max(difference, std::abs(left[i] - right.at(i)));
      }
      worst = std::max(worst, difference / largest);
    }
    return worst;
  }
};

TEST_F(CliTraining, SameSeedGivesTheSameBits) {
  for (const char* model : {"lenet5", "mlp:hidden=32"})
    EXPECT_EQ(weights(train(model, {"--seed", "7"})), weights(train(model, {"--seed", "7"}))) << model;
}

TEST_F(CliTraining, AnotherSeedGivesOtherWeights) {
  EXPECT_GT(distance(values(train("mlp:hidden=32", {"--seed", "7"})),
                     values(train("mlp:hidden=32", {"--seed", "8"}))),
            0.1);
}

TEST_F(CliTraining, ThreadsChangeNothingBeyondRounding) {
  for (const char* model : {"lenet5", "mlp:hidden=32"}) {
    auto with_threads = [&](int threads) {
      know_machine(threads);
      return values(train(model, {"--threads", std::to_string(threads)}));
    };
    EXPECT_LT(distance(with_threads(1), with_threads(3)), 1e-4) << model;
  }
}

TEST_F(CliTraining, AFileThatDescribesLenet5TrainsAsLenet5) {
  put("mine.json", R"({"name": "lenet5", "input": [1, 32, 32], "layers": [
      {"type": "conv2d", "name": "C1", "maps": 6, "kernel": 5, "activation": "relu"},
      {"type": "max_pool", "name": "S2", "kernel": 2},
      {"type": "conv2d", "name": "C3", "maps": 16, "kernel": 5, "activation": "relu"},
      {"type": "max_pool", "name": "S4", "kernel": 2},
      {"type": "conv2d", "name": "C5", "maps": 120, "kernel": 5, "activation": "relu"},
      {"type": "linear", "name": "F6", "units": 84, "activation": "relu"},
      {"type": "linear", "name": "out", "units": 10}]})");
  const Words same = {"--lr", "0.02", "--momentum", "0.9", "--batch", "64", "--seed", "3"};
  EXPECT_TRUE(values(train("mine.json", same)) == values(train("lenet5", same)));
}

TEST_F(CliTraining, ContinuesFromSavedWeights) {
  // Without momentum and shuffling, two runs of one epoch equal one run of two.
  const Words plain = {"--momentum", "0", "--no-shuffle", "--batch", "32"};
  Words two = train("mlp:hidden=16", plain), again = train("mlp:hidden=16", plain);
  two.insert(two.end(), {"--epochs", "2"});
  two.erase(two.begin() + 6, two.begin() + 8);  // the first --epochs
  const std::string at_once = weights(two);
  weights(again);
  again.insert(again.end(), {"--weights", "w.safetensors"});
  EXPECT_EQ(weights(again), at_once);
}

TEST_F(CliTraining, EvalRepeatsTheAccuracyThatTrainPrinted) {
  const Json trained = succeed_json(train("lenet5", {"--save", "w.safetensors", "--seed", "2"}));
  const Json tested =
      succeed_json({"eval", "lenet5", "--weights", "w.safetensors", "--test-size", "200", "--seed", "2"});
  EXPECT_EQ(tested.at("accuracy").at("test"), trained.at("accuracy").at("test"));
  EXPECT_EQ(tested.at("images"), 200);
  const Json other = succeed_json(
      {"eval", "lenet5", "--weights", "w.safetensors", "--test-size", "200", "--seed", "2", "--batch", "7"});
  EXPECT_EQ(other.at("accuracy"), tested.at("accuracy"));
}

TEST_F(CliTraining, PrecisionsAgree) {
  const Json single = succeed_json(train("lenet5", {})),
             wide = succeed_json(train("lenet5", {"--precision", "fp64"}));
  EXPECT_NEAR(single.at("accuracy").at("test"), wide.at("accuracy").at("test"), 0.011);  // two images of 200
  EXPECT_NEAR(single.at("first_loss"), wide.at("first_loss"), 1e-5);
  EXPECT_NE(single.at("first_loss"), wide.at("first_loss"));
  EXPECT_EQ(wide.at("precision"), "fp64");
}

TEST_F(CliTraining, WeightsOfOnePrecisionServeTheOther) {
  succeed(train("mlp:hidden=8", {"--save", "w64", "--precision", "fp64"}));
  const Json wide =
      succeed_json({"eval", "mlp:hidden=8", "--weights", "w64", "--test-size", "200", "--precision", "fp64"});
  const Json single = succeed_json({"eval", "mlp:hidden=8", "--weights", "w64", "--test-size", "200"});
  EXPECT_NEAR(single.at("loss"), wide.at("loss"), 1e-5);
}

TEST_F(CliTraining, KernelsAgree) {
  const Json gemm = succeed_json(train("lenet5", {"--kernel", "conv2d=cpu:im2col_gemm"}));
  const Json plain = succeed_json(train("lenet5", {"--kernel", "conv2d=reference"}));
  EXPECT_NEAR(gemm.at("first_loss"), plain.at("first_loss"), 1e-5);
  EXPECT_NEAR(gemm.at("accuracy").at("test"), plain.at("accuracy").at("test"), 0.011);
}

TEST_F(CliTraining, CourseWeightsAndFileOrderLeaveTheSeedNothingToDo) {
  for (const auto& [name, bytes] : idx_files(make_glyphs({.train = 512, .test = 100})))
    put("mnist/" + name, bytes);
  auto small = [&](const char* seed, const Words& more) {
    Words words = {"train", "--recipe", "perceptron-small2", "--data-dir", folder().string(), "--seed", seed};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string in_order = weights(small("1", {"--no-shuffle"}));
  EXPECT_EQ(in_order, weights(small("2", {"--no-shuffle"})));
  EXPECT_EQ(in_order, weights(small("3", {})));  // the recipe itself does not shuffle
  EXPECT_NE(weights(small("1", {"--shuffle"})), weights(small("2", {"--shuffle"})));
}

TEST_F(CliTraining, ShufflesUnlessTold) {
  const std::string usual = weights(train("mlp:hidden=8", {}));
  EXPECT_EQ(usual, weights(train("mlp:hidden=8", {"--shuffle"})));
  EXPECT_NE(usual, weights(train("mlp:hidden=8", {"--no-shuffle"})));
}

TEST_F(CliTraining, TargetStopsEarly) {
  Words words = {"train", "mlp:hidden=32", "--train-size", "320", "--test-size", "200", "--epochs", "50"};
  words.insert(words.end(), {"--target", "0.3"});
  const Json json = succeed_json(words);
  EXPECT_LT(json.at("epochs").size(), 50u);
  EXPECT_EQ(json.at("target_reached"), true);
  EXPECT_GE(json.at("epochs").back().at("accuracy").at("test"), 0.3);
}

TEST_F(CliTraining, LogEveryPrintsLinesAsideFromTheResult) {
  const Outcome outcome = succeed(train("mlp:hidden=8", {"--batch", "32", "--log-every", "2"}));
  for (const char* part : {"step 2: loss ", "step 10: loss ", "epoch 1 of 1"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("step 3:"), std::string::npos);
  EXPECT_EQ(outcome.out.find("step 2:"), std::string::npos);
  EXPECT_NE(outcome.out.find("accuracy"), std::string::npos);
}

TEST_F(CliTraining, ExplainNamesChoicesAndRefusals) {
  const Outcome outcome = succeed(train("lenet5", {"--explain"}));
  for (const char* part : {"C1", "conv2d", "refused: cpu:", "first that accepts"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_NE(
      succeed(train("lenet5", {"--explain", "--kernel", "conv2d=reference"})).err.find("reference (forced)"),
      std::string::npos);
}

TEST_F(CliTraining, ALossThatIsNoNumberStopsWithStepAndLayer) {
  const Words exploding =
      train("mlp:hidden=8,activation=relu", {"--lr", "1e30", "--batch", "32", "--save", "w"});
  expect_stopped(1, exploding, {"loss became", "at step 2", "is 'out'", "smaller --lr", "--clip-norm"});
}

// The record of a run that ended early is whole, and says why; checkpoints from before stay.
TEST_F(CliTraining, ALossThatIsNoNumberIsRecordedAndSpoilsNothing) {
  Words words =
      train("mlp:hidden=8,activation=relu", {"--lr", "1e30", "--batch", "32", "--save", "w", "--record", "r",
                                             "--checkpoint-dir", "c", "--checkpoint-every", "1"});
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("the loss became"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(file("w")));
  const Json record = Json::parse(read_file(file("r")));
  EXPECT_NE(record.at("diverged").get<std::string>().find("at step 2"), std::string::npos);
  EXPECT_FALSE(record.contains("curve")) << "no epoch was finished";
  const std::set<std::string> expected = {"r", "c", "c/step-000000000001.safetensors"};
  EXPECT_EQ(files(), expected);
}

TEST_F(CliTraining, ARunThatDivergesSaysSoAndFails) {
  const Words words = train("mlp:hidden=32", {"--lr", "300", "--momentum", "0.9", "--record", "r", "--json"});
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  for (const char* part : {"headroom: the run diverged: its test loss is ", "guessing has 2.303",
                           "smaller --lr", "--warmup", "--clip-norm"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
  const Json json = Json::parse(outcome.out), record = Json::parse(read_file(file("r")));
  EXPECT_GT(json.at("test_loss").get<double>(), 23.03);
  EXPECT_TRUE(json.at("diverged").get<std::string>().starts_with("the run diverged"));
  EXPECT_EQ(record.at("diverged"), json.at("diverged"));
  EXPECT_FALSE(succeed_json(train("mlp:hidden=32", {})).contains("diverged"));
}

// A batch in parts gives the same weights as the whole, up to rounding.
TEST_F(CliTraining, BatchesAddUp) {
  const Values whole = values(train("lenet5", {"--batch", "48", "--momentum", "0.9", "--precision", "fp64"}));
  const Values parts = values(
      train("lenet5", {"--batch", "12", "--accumulate", "4", "--momentum", "0.9", "--precision", "fp64"}));
  EXPECT_LT(distance(whole, parts), 1e-11);
}

TEST_F(CliTraining, WrongGradientSettingsAreRefused) {
  expect_refused(train("mlp", {"--accumulate", "0"}), {"--accumulate is 0"});
  expect_refused(train("mlp", {"--clip-norm", "-1"}), {"--clip-norm is -1"});
  expect_refused(train("mlp", {"--label-smoothing", "1"}), {"--label-smoothing is 1"});
  expect_refused(train("mlp", {"--l2", "0.1", "--weight-decay", "0.1"}), {"--l2 and --weight-decay"});
  expect_refused(train("autoencoder", {"--label-smoothing", "0.1"}), {"--label-smoothing", "reconstruction"});
}

TEST_F(CliTraining, SmallGlyphSetsAreDrawnInNoTime) {
  const Json json = succeed_json({"train", "mlp:hidden=8", "--train-size", "64", "--test-size", "32"});
  EXPECT_LT(json.at("user_s"), 1.0);  // all 70,000 take several seconds
}

TEST_F(CliTraining, WritesThroughLinksAndIntoDevices) {
  std::filesystem::create_directory(file("there"));
  std::filesystem::create_symlink("there/real", file("link"));
  put("there/real", "");
  succeed(train("mlp:hidden=8", {"--save", "link", "--record", "/dev/null"}));
  EXPECT_TRUE(std::filesystem::is_symlink(file("link")));
  EXPECT_FALSE(read_safetensors(file("there/real")).tensors.empty());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(CliTraining, TwoRunsInStepTellHowFarTheyDriftApart) {
  const Json same = succeed_json(train("mlp:hidden=8", {"--check-against", "cpu"}));
  for (const Json& step : same.at("divergence"))
    for (const auto& [name, array] : step.at("arrays").items()) EXPECT_EQ(array.at("relative"), 0.0) << name;
  const Json wide = succeed_json(train("mlp:hidden=8", {"--check-against", "cpu/fp64"}));
  EXPECT_EQ(wide.at("divergence").back().at("step"), 5);
  for (const auto& [name, array] : wide.at("divergence").back().at("arrays").items()) {
    EXPECT_GT(array.at("relative"), 0.0) << name;
    EXPECT_LT(array.at("relative"), 1e-5) << name;
  }
  EXPECT_EQ(wide.at("other"), "cpu/fp64");
  expect_refused(train("mlp:hidden=8", {"--check-against", "tpu"}), {"unknown device 'tpu'"});
  expect_refused(train("mlp:hidden=8", {"--check-against", "cpu/fp63"}), {"fp63"});
  expect_refused(train("mlp:hidden=8", {"--check-against", "cpu", "--save", "x"}), {"saves nothing"});
}

}  // namespace
}  // namespace headroom::testing
