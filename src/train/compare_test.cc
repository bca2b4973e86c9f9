#include "train/compare.h"

#include <gtest/gtest.h>

#include "data/glyphs.h"
#include "models/zoo.h"

namespace headroom {
namespace {

Dataset compared_digits() { return load_dataset("glyphs", {.train_size = 400, .test_size = 100}); }

TrainOptions options() {
  TrainOptions o;
  o.batch = 50, o.epochs = 2, o.lr = 0.05;
  return o;
}

TEST(CompareTraining, TheSameDeviceDoesNotDrift) {
  const auto device = open_device("cpu", 2);
  Engine a(find_net("mlp:hidden=32"), *device, {.seed = 1}),
      b(find_net("mlp:hidden=32"), *device, {.seed = 2});
  std::vector<std::int64_t> steps;
  const auto list = compare_training(a, b, compared_digits(), options(),
                                     [&](const Divergence& d) { steps.push_back(d.step); });
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 5, 8, 10, 16}));
  for (const Divergence& d : list) EXPECT_EQ(d.worst(), 0) << d.step;
}

TEST(CompareTraining, PrecisionsDriftApartByRounding) {
  const auto device = open_device("cpu", 2);
  Engine a(find_net("mlp:hidden=32"), *device, {.seed = 1}),
      b(find_net("mlp:hidden=32"), *device, {.precision = DType::f64, .seed = 2});
  const auto list = compare_training(a, b, compared_digits(), options(), [](const Divergence&) {});
  EXPECT_GT(list.back().worst(), 0);
  EXPECT_LT(list.back().worst(), 1e-4);
  EXPECT_EQ(list.back().arrays.size(), 4u);
}

// The distance after the first step is about the change, in double precision far above rounding.
TEST(CompareTraining, AChangeOfTheFirstWeightsIsSeen) {
  const auto device = open_device("cpu", 2);
  for (const double change : {1e-6, 1e-9}) {
    Engine a(find_net("mlp:hidden=32"), *device, {.precision = DType::f64, .seed = 1}),
        b(find_net("mlp:hidden=32"), *device, {.precision = DType::f64, .seed = 1});
    const auto list = compare_training(
        a, b, compared_digits(), options(), [](const Divergence&) {}, change);
    for (const ArrayDistance& array : list.front().arrays)
      if (array.name.ends_with("weight")) {
        EXPECT_NEAR(array.relative / change, 1, 0.5) << array.name;
      }
  }
}

// The channels of a normalised input have a mean of zero but for rounding.
TEST(CompareTraining, MeansThatAreZeroAreNotCompared) {
  const auto device = open_device("cpu", 2);
  Net net("normalized", {1, 28, 28});
  net.conv2d("conv", {.maps = 4, .kernel = 5}).batch_norm("first").batch_norm("second").relu("relu");
  net.flatten().linear("fc", {.units = 10});
  Engine a(net, *device, {.seed = 1}), b(net, *device, {.precision = DType::f64, .seed = 1});
  const auto list = compare_training(a, b, compared_digits(), options(), [](const Divergence&) {});
  EXPECT_GT(list.back().worst(), 0);
  for (const ArrayDistance& array : list.back().arrays) EXPECT_LT(array.relative, 1e-3) << array.name;
}

}  // namespace
}  // namespace headroom
