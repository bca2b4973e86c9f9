// Every network of the zoo, small but at full depth, trains on the CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "models/testing/small_models.h"
#include "support/program.h"
#include "train/engine.h"
#include "train/settings.h"

namespace headroom::testing {
namespace {

// One batch of random numbers, and labels in turn.
struct Batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

Batch batch_for(const Net& net, std::int64_t count) {
  Batch batch;
  std::uint32_t bits = 1;
  for (std::int64_t i = 0; i < count * Shape(net.input).numel(); ++i)
    batch.images.push_back(float((bits = bits * 1664525 + 1013904223) >> 16) / 32768 - 1);
  for (std::int64_t i = 0; i < count; ++i) batch.labels.push_back(std::int32_t(i % 3));
  return batch;
}

class ZooTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooTraining, TheLossOfABatchFalls) {
  constexpr std::int64_t kBatch = 6;
  const auto device = open_device("cpu");
  Engine engine(find_net(with_option(GetParam(), "dropout", "0")), *device,
                {.seed = 5, .update = usual_update(train_defaults(GetParam()))});
  const Batch batch = batch_for(engine.net(), kBatch);
  Engine::Ready& ready = engine.ready(Mode::train, kBatch);
  engine.set_learning_rate(0.01);
  std::vector<double> losses;
  for (std::int64_t step = 1; step <= 6; ++step)
    losses.push_back(engine.train_step(ready, batch.images.data(), batch.labels.data(), step));
  EXPECT_TRUE(std::isfinite(losses.back()));
  EXPECT_LT(losses.back(), losses.front());
  Engine::Ready& eval = engine.ready(Mode::eval, kBatch);
  engine.run_batch(eval, batch.images.data(), batch.labels.data());
  EXPECT_TRUE(std::isfinite(eval.executor->read_scalar(eval.program.loss)));
}

INSTANTIATE_TEST_SUITE_P(ConvNets, ZooTraining,
                         ::testing::Values(small_model("alexnet"), small_model("overfeat"),
                                           small_model("vgg"), small_model("googlenet"),
                                           small_model("resnet"),
                                           small_model("resnet") + ",depth=18,stem=cifar",
                                           small_model("squeezenet"),
                                           small_model("squeezenet") + ",version=1.1",
                                           small_model("mobilenet"), small_model("mobilenet") + ",version=1"),
                         [](const auto& test) {
                           const std::string name = test.param.substr(0, test.param.find(':'));
                           return fmt::format("{}_{}", name, test.index);
                         });

struct CliZoo : ProgramTest {
  // Photographs in CIFAR-10's format: a label, then three planes.
  static std::string records(int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
      bytes += static_cast<char>(i % 10) + std::string(3072, static_cast<char>(i % 10 * 25));
    return bytes;
  }
  static Words training(const std::string& model, Words more) {
    Words words = {"train", model, "--train-size", "16", "--test-size", "8", "--batch", "8", "--epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

// Glyphs are drawn at the network's input size; the network gets their one channel and ten classes.
TEST_F(CliZoo, ModelsFitTheData) {
  for (const char* model : {"resnet:depth=18,stem=cifar,width=0.125", "squeezenet:width=0.25,input=40",
                            "mobilenet:width=0.125,input=32"})
    EXPECT_GT(succeed_json(training(model, {})).at("loss").get<double>(), 0) << model;
  put("some.bin", records(200));
  for (const char* model : {"resnet:depth=18,stem=cifar,width=0.125", "vgg:depth=11,width=0.125,dropout=0.5",
                            "googlenet:width=0.125", "resnet:depth=18,width=0.125"})
    EXPECT_GT(succeed_json(training(model, {"--data", "cifar10:some.bin"})).at("loss").get<double>(), 0);
}

TEST_F(CliZoo, ImagesTooSmallAreRefusedUnlessEnlarged) {
  put("some.bin", records(200));
  expect_refused(training("alexnet:width=0.125", {"--data", "cifar10:some.bin"}),
                 {"alexnet", "at least 63x63", "not 32x32", "--image-size"});
  succeed(training("alexnet:width=0.125", {"--data", "cifar10:some.bin", "--image-size", "64"}));
  expect_refused(training("resnet:depth=18,input=48,width=0.125", {"--data", "cifar10:some.bin"}),
                 {"3x32x32", "3x48x48", "--image-size"});
}

// The user's choice of initial weights overrides the zoo's.
TEST_F(CliZoo, FirstWeightsAsTheUserSays) {
  auto first_loss = [&](Words more) {
    return succeed_json(training("vgg:depth=11,width=0.125,input=32", std::move(more)))
        .at("loss")
        .get<double>();
  };
  const double usual = first_loss({}), zero = first_loss({"--init", "constant:0", "--lr", "1e-9"});
  EXPECT_NEAR(zero, std::log(10.0), 1e-5) << "all scores are equal";
  EXPECT_NE(usual, zero);
}

}  // namespace
}  // namespace headroom::testing
