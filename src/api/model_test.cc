#include "headroom/model.h"

#include <gtest/gtest.h>

#include <numeric>

#include "api/testing/known_machine.h"
#include "headroom/error.h"

namespace headroom {
namespace {

using testing::expect_rejected;
using testing::KnownMachine;

Net small_net() {
  Net net("small", {1, 28, 28});
  net.conv2d("conv", {.maps = 4, .kernel = 5, .stride = 2, .activation = "relu"})
      .batch_norm("norm")
      .max_pool("pool", {.kernel = 2})
      .linear("out", {.units = 10});
  return net;
}

const Data& digits() {
  static const Data data = load_data("glyphs", {.train_size = 640, .test_size = 200});
  return data;
}

const ModelSettings kOneThread{.seed = 3, .threads = 1};
const TrainSettings kAdam{.epochs = 2, .batch = 32, .lr = 0.01, .optimizer = "adam", .schedule = "cosine"};

// The input values of pixels: (pixel / 255 - mean) / deviation of the digits.
std::vector<float> as_values(std::span<const std::uint8_t> pixels) {
  std::vector<float> values;
  for (const std::uint8_t pixel : pixels)
    values.push_back(static_cast<float>((double(pixel) * (1.0 / 255) - 0.1307) / 0.3081));
  return values;
}

TEST(Model, TrainsEvaluatesAndTellsOfEpochs) {
  Model model(small_net(), kOneThread);
  std::vector<Epoch> heard;
  const Training training = model.train(digits(), kAdam, [&](const Epoch& e) { heard.push_back(e); });
  ASSERT_EQ(training.epochs.size(), 2u);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1].number, 2);
  EXPECT_EQ(heard[1].loss, training.epochs[1].loss);
  EXPECT_EQ(training.steps, 40);
  EXPECT_LT(training.epochs[1].loss, training.epochs[0].loss);
  EXPECT_GT(training.images_per_s, 0);
  const Evaluation evaluation = model.evaluate(digits());
  EXPECT_EQ(evaluation.accuracy, training.epochs[1].test_accuracy);
  EXPECT_GT(evaluation.accuracy, 0.5);
  EXPECT_GE(evaluation.top5_accuracy, evaluation.accuracy);
  EXPECT_EQ(evaluation.images, 200);
  EXPECT_EQ(std::accumulate(evaluation.confusion.begin(), evaluation.confusion.end(), std::int64_t{0}), 200);
}

TEST(Model, IsAFunctionOfItsSeed) {
  Model a(small_net(), kOneThread), b(small_net(), kOneThread), c(small_net(), {.seed = 4, .threads = 1});
  const double loss = a.train(digits(), kAdam).last_loss;
  EXPECT_EQ(loss, b.train(digits(), kAdam).last_loss);
  EXPECT_NE(loss, c.train(digits(), kAdam).last_loss);
}

TEST(Model, TrainingAgainGoesOnFromTheWeights) {
  Model model(small_net(), kOneThread);
  const Training first = model.train(digits(), kAdam);
  const Training second = model.train(digits(), {.batch = 64, .optimizer = "sgd:momentum=0.5"});
  EXPECT_LT(second.first_loss, first.first_loss / 2);
}

TEST(Model, SavedWeightsGiveTheSameScores) {
  const KnownMachine machine(1);
  Model model(small_net(), kOneThread);
  model.train(digits(), kAdam);
  model.save(machine.file("w.safetensors"));
  Model other(small_net(), {.seed = 9, .threads = 1});
  EXPECT_NE(other.evaluate(digits()).loss, model.evaluate(digits()).loss);
  other.load(machine.file("w.safetensors"));
  EXPECT_EQ(other.evaluate(digits()).loss, model.evaluate(digits()).loss);
  EXPECT_EQ(other.predict(digits().test_pixels(), digits()).values,
            model.predict(digits().test_pixels(), digits()).values);
  expect_rejected([&] { Model(find_net("mlp"), kOneThread).load(machine.file("w.safetensors")); }, {"needs"});
}

TEST(Model, PredictsWhatItEvaluates) {
  Model model(small_net(), kOneThread);
  model.train(digits(), kAdam);
  const Scores scores = model.predict(digits().test_pixels(), digits());
  ASSERT_EQ(scores.rows, 200);
  ASSERT_EQ(scores.columns, 10);
  int right = 0;
  for (std::int64_t i = 0; i < scores.rows; ++i)
    right += scores.best(i) == digits().test_labels()[static_cast<std::size_t>(i)];
  EXPECT_EQ(right / 200.0, model.evaluate(digits()).accuracy);
  const Scores same = model.predict(as_values(digits().test_pixels()));
  EXPECT_EQ(same.values, scores.values);
  EXPECT_EQ(model.predict(std::span<const float>{}).rows, 0);
}

// Other items in the batch must not change an item's scores beyond rounding.
TEST(Model, AnyNumberOfItemsCanBePredicted) {
  Model model(small_net(), kOneThread);
  const std::vector<float> values = as_values(digits().test_pixels());
  std::vector<float> many;
  for (int i = 0; i < 2; ++i) many.insert(many.end(), values.begin(), values.end());
  const Scores all = model.predict(many);
  EXPECT_EQ(all.rows, 400);
  for (const std::int64_t count : {1, 3, 5}) {
    const Scores few = model.predict(std::span(values).first(static_cast<std::size_t>(count * 784)));
    ASSERT_EQ(few.rows, count);
    for (std::size_t k = 0; k < few.values.size(); ++k) EXPECT_NEAR(few.values[k], all.values[k], 1e-4);
    EXPECT_NEAR(all.row(200)[0], all.row(0)[0], 1e-4);
  }
}

TEST(Model, SmallerPicturesAreCentredAsInTraining) {
  Model model(find_net("lenet5"), {.precision = "fp64", .threads = 1});  // takes 32x32
  const Scores scores = model.predict(digits().test_pixels(), digits());
  int right = 0;
  for (std::int64_t i = 0; i < scores.rows; ++i)
    right += scores.best(i) == digits().test_labels()[static_cast<std::size_t>(i)];
  EXPECT_EQ(right / 200.0, model.evaluate(digits()).accuracy);
}

TEST(Model, LearnsFromTheCallersMemory) {
  const std::span<const std::uint8_t> pixels = digits().test_pixels(), labels = digits().test_labels();
  const std::vector<float> values = as_values(pixels);
  const Data bytes = make_data({1, 28, 28}, {.pixels = pixels, .labels = labels}, {},
                               {.classes = 10, .normalize = "0.1307,0.3081"});
  const Data floats = make_data({1, 28, 28}, {.values = values, .labels = labels},
                                {.values = values, .labels = labels}, {.classes = 10});
  Model a(small_net(), kOneThread), b(small_net(), kOneThread);
  EXPECT_EQ(a.train(bytes, kAdam).last_loss, b.train(floats, kAdam).last_loss);
  EXPECT_EQ(b.evaluate(floats).images, 200);
  expect_rejected([&] { a.evaluate(bytes); }, {"no test items"});
  expect_rejected([&] { b.train(floats, {.augment = "flip"}); }, {"cannot be augmented"});
}

TEST(Model, ReconstructsWithoutLabels) {
  std::vector<float> values(64 * 6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 7;
  const Data data = make_data({6}, {.values = values}, {});
  Net net("narrow", {6});
  net.linear("in", {.units = 3, .activation = "tanh"}).linear("out", {.units = 6});
  net.loss = kReconstruction;
  Model model(net, {.precision = "fp64", .threads = 1});
  const Training t = model.train(data, {.epochs = 5, .batch = 8, .optimizer = "adam"});
  EXPECT_LT(t.last_loss, t.first_loss);
  EXPECT_EQ(model.predict(values).columns, 6);
}

TEST(Model, ProfilesTheLastTraining) {
  const KnownMachine machine(1);
  Model model(small_net(), kOneThread);
  expect_rejected([&] { model.profile(); }, {"'small'", "was not trained"});
  {
    const auto mine = model.timer().scope("mine");
    model.train(digits(), kAdam);
  }
  const Profile profile = model.profile();
  EXPECT_EQ(profile.batch, 32);
  EXPECT_EQ(profile.threads, 1);
  EXPECT_EQ(profile.samples, 38);  // 40 steps minus two warm-up steps
  std::vector<std::string> layers;
  double floor = 0, measured = 0;
  for (const LayerTimes& layer : profile.layers) {
    layers.push_back(layer.layer);
    floor += layer.floor_s;
    measured += layer.measured_s();
    EXPECT_GT(layer.forward_s, 0) << layer.layer;
    EXPECT_GT(layer.floor_s, 0) << layer.layer;
  }
  EXPECT_EQ(layers, (std::vector<std::string>{"conv", "norm", "pool", "out", "loss"}));
  EXPECT_GT(profile.layers[0].update_s, 0);
  EXPECT_NEAR(floor, profile.floor_s, 1e-12);
  EXPECT_LT(measured, 2 * profile.step_s);
  ASSERT_EQ(profile.timers.size(), 2u);
  EXPECT_EQ(profile.timers[0].name, "mine");
  EXPECT_EQ(profile.timers[1].name, "train");
  EXPECT_EQ(profile.timers[1].depth, 1);
  for (const char* word : {"conv", "backward ms", "floor ms", "mine", "  train", "self ms"})
    EXPECT_NE(profile.text().find(word), std::string::npos) << word << "\n" << profile.text();
}

TEST(Model, WrongRequestsLeaveItAsItWas) {
  Model model(small_net(), kOneThread);
  const std::vector<float> image(784, 0.5f);
  const Scores before = model.predict(image);
  auto train = [&](const TrainSettings& settings) {
    return [&, settings] { model.train(digits(), settings); };
  };
  expect_rejected(train({.optimizer = "adams"}), {"unknown optimizer 'adams'"});
  expect_rejected(train({.schedule = "cosin"}), {"cosin"});
  expect_rejected(train({.epochs = 0}), {"epochs is 0"});
  expect_rejected(train({.batch = 0}), {"batch is 0"});
  expect_rejected(train({.batch = 641}), {"larger than the set"});
  expect_rejected(train({.lr = -1}), {"lr is -1"});
  expect_rejected(train({.nesterov = true}), {"momentum"});
  expect_rejected(train({.target = 2}), {"target is 2"});
  expect_rejected([&] { model.predict(std::span(image).first(783)); }, {"783 values"});
  expect_rejected([&] { model.evaluate(digits(), 0); }, {"batch is 0"});
  expect_rejected([&] { Model(small_net(), {.precision = "fp31"}); }, {"'fp31'"});
  expect_rejected([&] { Model(small_net(), {.device = "tpu"}); }, {"'tpu'"});
  expect_rejected([&] { Model(small_net(), {.threads = -1}); }, {"`threads` is -1"});
  EXPECT_EQ(model.predict(image).values, before.values);
  try {
    model.train(digits(), {.optimizer = "adams"});
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("adam"), std::string::npos);
  }
}

TEST(Model, CanBeMoved) {
  Model first(small_net(), kOneThread);
  first.train(digits(), {.batch = 64});
  const double loss = first.evaluate(digits()).loss;
  Model second = std::move(first);
  EXPECT_EQ(second.evaluate(digits()).loss, loss);
  EXPECT_EQ(second.parameter_count(), 4 * 25 + 4 + 8 + 4 * 36 * 10 + 10);
}

// The same model on a GPU: its times are compared with the GPU's ceilings, not with the CPU's.
TEST(CudaModel, TrainsAndProfilesOnAGpu) {
  if (survey_gpus().gpus.empty()) GTEST_SKIP() << "no GPU here: " << survey_gpus().why_not;
  const KnownMachine machine(1);
  Model model(small_net(), {.device = "cuda", .precision = "tf32", .seed = 3});
  const Training training = model.train(digits(), kAdam);
  EXPECT_LT(training.epochs[1].loss, training.epochs[0].loss);
  const Profile profile = model.profile();
  EXPECT_EQ(profile.machine, survey_gpus().gpus[0].name);
  EXPECT_EQ(find_machine("here-gpu").title, profile.machine) << "the GPU was measured for it";
  EXPECT_GT(profile.predicted_s, 0) << "kernels of its own kind have times";
  // On the made-up CPU a step could not be faster than this; a GPU's floor is far below.
  EXPECT_LT(profile.floor_s, predict(small_net(), "here", {.batch = 32, .threads = 1}).floor_s);
  Model again(small_net(), {.device = "cuda", .precision = "tf32", .seed = 3});
  EXPECT_EQ(again.predict(std::vector<float>(28 * 28, 0.5f)).columns, 10);
}

}  // namespace
}  // namespace headroom
