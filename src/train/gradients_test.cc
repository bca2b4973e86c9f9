// What happens to gradients on their way to the update: clipping, sums over several batches, smoothed labels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "base/testing/bad_input.h"
#include "data/glyphs.h"
#include "train/trainer.h"

namespace headroom {
namespace {

using testing::expect_rejected;
using Values = std::vector<double>;

constexpr std::int64_t kBatch = 12, kInputs = 8, kClasses = 3;

Values gradient_weights(const Engine& engine, const std::string& name) {
  Values values(static_cast<std::size_t>(engine.storage().type(name).shape.numel()));
  engine.storage().read(name, values.data(), values.size() * sizeof(double));
  return values;
}

class Gradients : public ::testing::Test {
 protected:
  Gradients() {
    const Philox random(3);
    for (std::uint64_t i = 0; i < kBatch * kInputs; ++i) images_.push_back(random.normal(i));
    for (std::int64_t i = 0; i < kBatch; ++i) labels_.push_back(static_cast<std::int32_t>(i % kClasses));
  }
  Engine make(EngineOptions options, const char* loss = kCrossEntropy) {
    options.precision = DType::f64, options.keep_gradients = true;
    Net net = find_net("mlp:hidden=16,input=8,classes=3,activation=tanh");
    net.loss = loss;
    return {net, *device_, std::move(options)};
  }
  double step(Engine& engine, double rate) {
    Engine::Ready& ready = engine.ready(Mode::train, kBatch);
    engine.set_learning_rate(rate);
    return engine.train_step(ready, images_.data(), labels_.data(), 1);
  }
  // Targets in the place of labels.
  void learn(const std::vector<float>& targets) {
    labels_.resize(targets.size());
    std::memcpy(labels_.data(), targets.data(), targets.size() * sizeof(float));
  }
  // Compares every gradient with the slope of the loss.
  void expect_slopes(Engine& engine) {
    constexpr double kStep = 1e-5;
    step(engine, 0);
    for (const std::string& name : names_) {
      const Values g = gradient(engine, name), first = gradient_weights(engine, name);
      for (std::size_t i = 0; i < first.size(); i += 5) {
        Values moved = first;
        auto loss_at = [&](double w) {
          moved[i] = w;
          engine.storage().write(name, moved.data(), moved.size() * sizeof(double));
          return step(engine, 0);
        };
        const double slope = (loss_at(first[i] + kStep) - loss_at(first[i] - kStep)) / (2 * kStep);
        loss_at(first[i]);
        EXPECT_NEAR(g[i], slope, 1e-9) << name << " " << i;
      }
    }
  }
  Values scores(Engine& engine) {
    Engine::Ready& eval = engine.ready(Mode::eval, kBatch);
    engine.run_batch(eval, images_.data(), labels_.data());
    return eval.executor->read(eval.program.logits);
  }
  Values gradient(Engine& engine, const std::string& name) {
    Engine::Ready& ready = engine.ready(Mode::train, kBatch);
    return ready.executor->read(gradient_of(ready.program, name));
  }
  std::unique_ptr<Device> device_ = open_device("cpu", 2);
  const std::vector<std::string> names_ = {"hidden.weight", "hidden.bias", "out.weight", "out.bias"};
  Values images_;
  std::vector<std::int32_t> labels_;
};

TEST_F(Gradients, AreScaledToTheNormAskedFor) {
  Engine plain = make({});
  step(plain, 0);
  double squares = 0;
  for (const std::string& name : names_)
    for (double g : gradient(plain, name)) squares += g * g;
  const double norm = std::sqrt(squares), limit = norm / 3;
  Engine clipped = make({.update = {.clip_norm = limit}});
  step(clipped, 1);
  for (const std::string& name : names_) {
    const Values first = gradient_weights(plain, name), g = gradient(plain, name),
                 after = gradient_weights(clipped, name);
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_NEAR(after[i], first[i] - g[i] * limit / norm, 1e-15 * (1 + std::abs(g[i]))) << name << " " << i;
  }
}

TEST_F(Gradients, BelowTheNormKeepTheirBits) {
  for (const char* optimizer : {"sgd:momentum=0.9", "adam"}) {
    Update free = parse_update(optimizer), bound = free;
    bound.clip_norm = 1e3;
    Engine plain = make({.update = free}), clipped = make({.update = bound});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(step(plain, 0.1), step(clipped, 0.1));
    for (const std::string& name : names_)
      EXPECT_EQ(gradient_weights(plain, name), gradient_weights(clipped, name)) << name;
  }
}

TEST_F(Gradients, OfZeroAreLeftAlone) {
  Engine engine = make({.update = {.clip_norm = 0.5}});
  const Values none(32 * kInputs, 0.0);
  for (const char* name : {"out.weight", "hidden.weight"})
    engine.storage().write(name, none.data(), gradient_weights(engine, name).size() * sizeof(double));
  std::fill(images_.begin(), images_.end(), 0.0);  // equal labels, equal scores: every gradient is 0
  EXPECT_NEAR(step(engine, 1), std::log(3.0), 1e-15);
  for (double w : gradient_weights(engine, "out.weight")) EXPECT_EQ(w, 0);
}

// -log of the share that softmax gives to each class, for every image.
std::vector<Values> surprises(Engine& engine, const Values& images) {
  Engine::Ready& eval = engine.ready(Mode::eval, kBatch);
  const std::vector<std::int32_t> any(kBatch, 0);
  engine.run_batch(eval, images.data(), any.data());
  const Values scores = eval.executor->read(eval.program.logits);
  std::vector<Values> rows;
  for (std::int64_t i = 0; i < kBatch; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < kClasses; ++k) sum += std::exp(scores[std::size_t(i * kClasses + k)]);
    rows.emplace_back();
    for (std::int64_t k = 0; k < kClasses; ++k)
      rows.back().push_back(std::log(sum) - scores[std::size_t(i * kClasses + k)]);
  }
  return rows;
}

TEST_F(Gradients, OfSmoothedLabelsFollowTheirLoss) {
  constexpr double kShare = 0.2;
  Engine engine = make({.label_smoothing = kShare});
  double wanted = 0;
  const std::vector<Values> rows = surprises(engine, images_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double even = std::accumulate(rows[i].begin(), rows[i].end(), 0.0) / kClasses;
    wanted += ((1 - kShare) * rows[i][std::size_t(labels_[i])] + kShare * even) / kBatch;
  }
  EXPECT_NEAR(step(engine, 0), wanted, 1e-14);
  expect_slopes(engine);
}

TEST_F(Gradients, OfARegressionFollowItsLoss) {
  Engine engine = make({}, kRegression);
  std::vector<float> targets;
  for (std::int64_t i = 0; i < kBatch * kClasses; ++i) targets.push_back(0.25F * float(i % 7) - 1);
  learn(targets);
  double wanted = 0;
  const Values given = scores(engine);
  for (std::size_t i = 0; i < given.size(); ++i)
    wanted += std::pow(given[i] - targets[i], 2) / double(given.size());
  EXPECT_NEAR(step(engine, 0), wanted, 1e-14);
  expect_slopes(engine);
}

TEST_F(Gradients, OfManyLabelsFollowTheirLoss) {
  Engine engine = make({}, kMultiLabel);
  std::vector<float> targets;
  for (std::int64_t i = 0; i < kBatch * kClasses; ++i)
    targets.push_back(i % 3 == 0 || i % 5 == 0 ? 1.F : 0.F);
  learn(targets);
  double wanted = 0;
  const Values given = scores(engine);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double probability = 1 / (1 + std::exp(-given[i]));
    wanted -= std::log(targets[i] > 0 ? probability : 1 - probability) / double(given.size());
  }
  EXPECT_NEAR(step(engine, 0), wanted, 1e-14);
  expect_slopes(engine);
}

TEST_F(Gradients, SmoothedLabelsAreForCrossEntropyAlone) {
  Net net = find_net("autoencoder:hidden=4,input=8");
  Engine engine(net, *device_, {.label_smoothing = 0.1});
  expect_rejected([&] { engine.ready(Mode::train, 4); },
                  {"`label-smoothing`", "autoencoder", "reconstruction"});
}

// Training in parts of a batch, by the trainer.
struct InParts : ::testing::Test {
  TrainResult train_in(std::int64_t parts, const Net& net, const Update& update, std::vector<Values>& after) {
    Engine engine(net, *device_,
                  {.precision = DType::f64, .seed = 2, .update = update, .label_smoothing = 0.1});
    TrainOptions options{.batch = 24, .epochs = 2, .accumulate = parts, .lr = 0.05};
    TrainObserver nobody;
    TrainResult result = train(engine, data_, options, nobody);
    for (const std::string& name : engine.storage().names(Role::parameter))
      after.push_back(gradient_weights(engine, name));
    return result;
  }
  static Net dropping() {  // parts must drop what the whole batch drops
    Net net("dropping", {1, 12, 12});
    net.conv2d("conv", {.maps = 3, .kernel = 3, .activation = "relu"}).dropout("drop", 0.4);
    return net.linear("out", {.units = 10});
  }
  std::unique_ptr<Device> device_ = open_device("cpu", 2);
  // Two whole batches, then one of 15: 8 and 7 of it if parts have 8 images.
  const Dataset data_ = make_glyphs({.train = 63, .test = 10, .size = 12});
};

TEST_F(InParts, ABatchTrainsAsAWhole) {
  const std::pair<Net, Update> runs[] = {
      {find_net("mlp:hidden=20,input=144"), {.momentum = 0.9, .l2 = 0.01}},
      {find_net("mlp:hidden=20,input=144"), {.kind = "adam", .clip_norm = 0.05}},
      {dropping(), {.momentum = 0.9}}};
  for (const auto& [net, update] : runs) {
    std::vector<Values> whole;
    const TrainResult one = train_in(1, net, update, whole);
    for (std::int64_t parts : {2, 3, 24}) {
      SCOPED_TRACE(fmt::format("{} {} in {} parts", net.name, to_text(update), parts));
      std::vector<Values> added;
      const TrainResult several = train_in(parts, net, update, added);
      EXPECT_EQ(several.state.steps, one.state.steps);
      EXPECT_NEAR(several.state.first_loss, one.state.first_loss, 1e-12);
      EXPECT_NEAR(several.state.last_loss, one.state.last_loss, 1e-9);
      EXPECT_EQ(several.state.epochs.back().train_accuracy, one.state.epochs.back().train_accuracy);
      for (std::size_t t = 0; t < whole.size(); ++t)
        for (std::size_t i = 0; i < whole[t].size(); ++i)
          ASSERT_NEAR(added[t][i], whole[t][i], 1e-9) << t << " " << i;
    }
  }
}

// Each part of a batch divides by the items of all parts.
TEST_F(InParts, TargetsAreLearnedAsInAWhole) {
  Dataset data = data_;
  for (Split* split : {&data.train, &data.test}) {
    split->targets_each = 2;
    for (std::int64_t i = 0; i < 2 * split->count(); ++i) split->targets.push_back(float(i % 3 == 0));
  }
  for (const char* loss : {kRegression, kMultiLabel}) {
    std::vector<double> losses;
    for (const std::int64_t parts : {1, 3}) {
      Net net = find_net("mlp:hidden=20,input=144,classes=2");
      net.loss = loss;
      Engine engine(net, *device_, {.precision = DType::f64, .seed = 2});
      TrainObserver nobody;
      losses.push_back(
          train(engine, data, {.batch = 24, .epochs = 2, .accumulate = parts, .lr = 0.05}, nobody)
              .state.last_loss);
    }
    EXPECT_NEAR(losses[0], losses[1], 1e-12) << loss;
  }
}

}  // namespace
}  // namespace headroom
