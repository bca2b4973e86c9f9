#include "headroom/predict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/testing/known_machine.h"

namespace headroom {
namespace {

using testing::expect_rejected;
using testing::KnownMachine;

TEST(PredictCost, GivesFloorsAndTimesOfMachinesThatAreNotHere) {
  const Net net = find_net("lenet5");
  const CostPrediction fast = predict(net, "h200", {.batch = 256}),
                       slow = predict(net, "k80", {.batch = 256});
  EXPECT_EQ(fast.machine, "h200");
  EXPECT_LT(fast.floor_s, slow.floor_s);
  EXPECT_GE(fast.predicted_s, fast.floor_s);
  double sum = 0;
  for (const LayerTimes& layer : fast.layers) {
    sum += layer.floor_s;
    EXPECT_EQ(layer.measured_s(), 0);
    EXPECT_FALSE(layer.bound.empty());
  }
  EXPECT_NEAR(sum, fast.floor_s, 1e-12);
  EXPECT_EQ(fast.layers.front().layer, "C1");
  EXPECT_DOUBLE_EQ(fast.items_per_s(), 256 / fast.floor_s);
  EXPECT_NE(fast.text().find("floor ms"), std::string::npos);
  EXPECT_NE(fast.text().find("predicted ms"), std::string::npos);
}

TEST(PredictCost, KnowsModesAndBatches) {
  const Net net = find_net("lenet5");
  EXPECT_LT(predict(net, "h200", {.mode = "eval"}).floor_s, predict(net, "h200").floor_s);
  EXPECT_LT(predict(net, "h200", {.batch = 1}).floor_s, predict(net, "h200").floor_s);
  EXPECT_LT(predict(net, "h200").floor_s, predict(net, "h200", {.optimizer = "adam"}).floor_s);
}

// A GPU from the table supports types that this CPU lacks.
TEST(PredictCost, KnowsThePrecisionsOfTheMachineItIsAskedFor) {
  const Net net = find_net("lenet5");
  const double fp32 = predict(net, "h200", {.batch = 4096}).floor_s;
  for (const char* precision : {"bf16", "fp16", "tf32"})
    EXPECT_LE(predict(net, "h200", {.batch = 4096, .precision = precision}).floor_s, fp32) << precision;
  const KnownMachine machine(1);
  expect_rejected([&] { predict(net, "here", {.precision = "fp16", .threads = 1}); }, {"fp16"});
}

TEST(PredictCost, PredictsTimesForThisMachine) {
  const KnownMachine machine(1);
  const CostPrediction here = predict(find_net("lenet5"), "here", {.threads = 1});
  EXPECT_GT(here.predicted_s, here.floor_s);
  EXPECT_NE(here.text().find("predicted ms"), std::string::npos);
}

TEST(PredictCost, RefusesWhatItDoesNotKnow) {
  const Net net = find_net("lenet5");
  expect_rejected([&] { predict(net, "h201"); }, {"h201"});
  expect_rejected([&] { predict(net, "h200", {.batch = 0}); }, {"batch is 0"});
  expect_rejected([&] { predict(net, "h200", {.mode = "test"}); }, {"'test'"});
  expect_rejected([&] { predict(net, "h200", {.precision = "fp8"}); }, {"'fp8'"});
  const std::vector<std::string> names = machines();
  EXPECT_NE(std::find(names.begin(), names.end(), "h200"), names.end());
}

}  // namespace
}  // namespace headroom
