// Tests within an epoch: when they come, what they cost, and that they change nothing.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include "data/glyphs.h"
#include "models/zoo.h"

namespace headroom {
namespace {

const Dataset& digits() {
  static const Dataset data = load_dataset("glyphs", {.train_size = 500, .test_size = 200});
  return data;
}

struct Heard : TrainObserver {
  void on_epoch(const EpochResult& epoch) override { epochs.push_back(epoch); }
  void on_test(const TestPoint& test) override { within.push_back(test.step); }
  std::vector<EpochResult> epochs;
  std::vector<std::int64_t> within;
};

TrainResult trained(TrainOptions options, Heard& heard) {
  const auto device = open_device("cpu", 1);
  Engine engine(find_net("mlp:hidden=16"), *device, {.seed = 3});
  options.batch = 50, options.epochs = 2, options.lr = 0.1;
  return train(engine, digits(), options, heard);
}

std::vector<std::int64_t> steps_of(const TrainResult& result) {
  std::vector<std::int64_t> steps;
  for (const TestPoint& test : result.evaluations) steps.push_back(test.step);
  return steps;
}

TEST(Trainer, TestsAfterEveryEpoch) {
  Heard heard;
  const TrainResult result = trained({}, heard);
  EXPECT_EQ(steps_of(result), (std::vector<std::int64_t>{10, 20}));
  EXPECT_TRUE(heard.within.empty());
  EXPECT_EQ(result.evaluations.back().accuracy, heard.epochs.back().test_accuracy);
  EXPECT_EQ(result.evaluations.back().train_seconds, result.train_seconds);
  EXPECT_EQ(result.evaluations.back().eval_seconds, result.eval_seconds);
}

TEST(Trainer, TestsEveryFewStepsToo) {
  Heard heard, plain;
  const TrainResult result = trained({.eval_every = 4}, heard), without = trained({}, plain);
  EXPECT_EQ(steps_of(result), (std::vector<std::int64_t>{4, 8, 10, 12, 16, 20}));
  EXPECT_EQ(heard.within, (std::vector<std::int64_t>{4, 8, 12, 16}));
  double before = 0;
  for (const TestPoint& test : result.evaluations) {
    EXPECT_GT(test.train_seconds, before) << test.step;
    before = test.train_seconds;
  }
  // Tests leave the training as it is, and do not count in its time.
  ASSERT_EQ(heard.epochs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(heard.epochs[i].loss, plain.epochs[i].loss);
    EXPECT_EQ(heard.epochs[i].test_accuracy, plain.epochs[i].test_accuracy);
  }
  EXPECT_NEAR(heard.epochs[0].seconds + heard.epochs[1].seconds, result.train_seconds, 1e-6);
}

TEST(Trainer, StopsAtTheFirstTestThatReachesTheTarget) {
  Heard all, some;
  const TrainResult whole = trained({.eval_every = 2}, all);
  const double target = 0.5;
  std::int64_t first = 0;
  for (const TestPoint& test : whole.evaluations)
    if (first == 0 && test.accuracy >= target) first = test.step;
  ASSERT_GT(first, 2);
  ASSERT_LT(first, 20);
  const TrainResult result = trained({.target = target, .eval_every = 2}, some);
  EXPECT_TRUE(result.target_reached);
  EXPECT_EQ(result.state.steps, first);
  EXPECT_EQ(result.evaluations.back().step, first);
}

}  // namespace
}  // namespace headroom
