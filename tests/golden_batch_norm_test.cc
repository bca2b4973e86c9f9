// Running statistics of batch normalisation over several training steps compared with PyTorch's, and the same
// network in evaluation, before and after its weights were saved and loaded.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing/bad_input.h"
#include "golden/golden.h"
#include "train/engine.h"
#include "train/weights.h"

namespace headroom::testing {
namespace {

constexpr double kNormTolerance = 1e-12;
constexpr std::uint64_t kFirstImages = 100;  // the tensor number of the first step's batch

Net normalized_net() {
  Net net("normalized", {2, 8, 7});
  net.conv2d("conv1", {.maps = 4, .kernel = 3, .bias = false}).batch_norm("bn1", {.activation = "tanh"});
  net.conv2d("conv2", {.maps = 5, .kernel = 3}).batch_norm("bn2", {.activation = "sigmoid"});
  return net.linear("out", {.units = 6});
}

struct GoldenBatchNorm : ::testing::Test {
  Engine make() {
    return {normalized_net(),
            *device_,
            {.precision = DType::f64, .seed = 1, .update = {.momentum = golden_["momentum"]}}};
  }

  // Scales and biases of the normalisations keep their defaults, 1 and 0.
  void set_parameters(Engine& engine) const {
    std::uint64_t tensor = 0;
    for (const auto& [name, dims] : golden_["shapes"].items()) {
      const Shape shape(dims.get<std::vector<std::int64_t>>());
      ASSERT_EQ(engine.storage().type(name).shape, shape) << name;
      const auto values = golden_fill(++tensor, shape);
      if (!name.starts_with("bn"))
        engine.storage().write(name, values.data(), values.size() * sizeof(double));
    }
  }

  std::vector<double> images(std::size_t step) const {
    std::vector<double> values = golden_fill(0, {batch_, 2, 8, 7});
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = golden_value(kFirstImages + step, i) * 2 + 0.1 * static_cast<double>(step);
    return values;
  }
  std::vector<std::int32_t> labels(std::size_t step) const {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < batch_; ++i)
      values.push_back(golden_label(step * static_cast<std::size_t>(batch_) + static_cast<std::size_t>(i),
                                    golden_["classes"]));
    return values;
  }

  static std::vector<double> stored(const Engine& engine, const std::string& name) {
    std::vector<double> values(static_cast<std::size_t>(engine.storage().type(name).shape.numel()));
    engine.storage().read(name, values.data(), values.size() * sizeof(double));
    return values;
  }

  void expect_statistics(const Engine& engine, const Json& want) const {
    for (const auto& [name, values] : want.items()) {
      if (name == "loss") continue;
      const std::vector<double> got = stored(engine, name);
      ASSERT_EQ(got.size(), values.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], values[i].get<double>(), kNormTolerance) << name << " " << i;
    }
  }

  std::size_t steps() const { return golden_["steps"].size(); }

  void train(Engine& engine) {
    set_parameters(engine);
    Engine::Ready& ready = engine.ready(Mode::train, batch_);
    engine.set_learning_rate(golden_["lr"]);
    for (std::size_t step = 0; step < steps(); ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      const Json& want = golden_["steps"][std::to_string(step)];
      const double loss = engine.train_step(ready, images(step).data(), labels(step).data(),
                                            static_cast<std::int64_t>(step) + 1);
      EXPECT_NEAR(loss, want["loss"].get<double>(), kNormTolerance);
      expect_statistics(engine, want);
    }
  }

  std::vector<double> evaluate(Engine& engine, double* loss = nullptr) const {
    Engine::Ready& eval = engine.ready(Mode::eval, batch_);
    engine.run_batch(eval, images(steps()).data(), labels(steps()).data());
    if (loss != nullptr) *loss = eval.executor->read_scalar(eval.program.loss);
    return eval.executor->read(eval.program.logits);
  }

  const Json golden_ = golden_json("batch_norm");
  const std::int64_t batch_ = golden_["batch"];
  std::unique_ptr<Device> device_ = open_device("cpu");
};

TEST_F(GoldenBatchNorm, StatisticsOfEveryStepThenEvaluation) {
  Engine engine = make();
  train(engine);
  for (const auto& [name, digest] : golden_["parameters"].items())
    EXPECT_EQ(compare_digest(digest, stored(engine, name), 1e-10), "") << name;
  double loss = 0;
  EXPECT_EQ(compare_digest(golden_["logits"], evaluate(engine, &loss), 1e-10), "");
  EXPECT_NEAR(loss, golden_["loss"].get<double>(), 1e-11);
}

TEST_F(GoldenBatchNorm, EvaluationLeavesTheStatisticsAlone) {
  Engine engine = make();
  train(engine);
  const std::vector<double> once = evaluate(engine);
  EXPECT_EQ(evaluate(engine), once);
  expect_statistics(engine, golden_["steps"][std::to_string(steps() - 1)]);
}

TEST_F(GoldenBatchNorm, StatisticsGoThroughAWeightsFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "w.safetensors";
  Engine engine = make();
  train(engine);
  save_weights(engine, path);
  Engine fresh = make();
  load_weights(fresh, path);
  expect_statistics(fresh, golden_["steps"][std::to_string(steps() - 1)]);
  EXPECT_EQ(evaluate(fresh), evaluate(engine)) << "to the bit";
}

}  // namespace
}  // namespace headroom::testing
