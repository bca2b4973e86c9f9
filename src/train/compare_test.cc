#include "train/compare.h"

#include <gtest/gtest.h>

#include "data/glyphs.h"
#include "models/zoo.h"

namespace headroom {
namespace {

Dataset digits() { return load_dataset("glyphs", {.train_size = 400, .test_size = 100}); }

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
  const auto list =
      compare_training(a, b, digits(), options(), [&](const Divergence& d) { steps.push_back(d.step); });
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 5, 8, 10, 16}));
  for (const Divergence& d : list) EXPECT_EQ(d.worst(), 0) << d.step;
}

TEST(CompareTraining, PrecisionsDriftApartByRounding) {
  const auto device = open_device("cpu", 2);
  Engine a(find_net("mlp:hidden=32"), *device, {.seed = 1}),
      b(find_net("mlp:hidden=32"), *device, {.precision = DType::f64, .seed = 2});
  const auto list = compare_training(a, b, digits(), options(), [](const Divergence&) {});
  EXPECT_GT(list.back().worst(), 0);
  EXPECT_LT(list.back().worst(), 1e-4);
  EXPECT_EQ(list.back().arrays.size(), 4u);
}

}  // namespace
}  // namespace headroom
