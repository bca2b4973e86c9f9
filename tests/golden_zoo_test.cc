// The zoo's convolutional networks at full depth compared with PyTorch's numbers: outputs, loss, every
// gradient and the running statistics after one step, and outputs in evaluation with those; in fp64 and fp32.
#include <gtest/gtest.h>

#include "base/json.h"
#include "golden/golden.h"
#include "train/engine.h"

namespace headroom::testing {
namespace {

// Biases and normalisations have one axis; weights keep the size of signals through many ReLU layers.
std::vector<double> initial(std::uint64_t tensor, const std::string& name, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  const bool scale = name.ends_with("_bn.weight"), shift = name.ends_with("_bn.bias");
  const double middle = scale ? 0.3 : shift ? 0.5 : 0;
  const double size = scale               ? 0.15
                      : shift             ? 0.3
                      : shape.rank() == 1 ? 0.1
                                          : std::sqrt(6.0 / double(shape.without_first().numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = middle + size * golden_value(tensor, i);
  if (name.ends_with("_expand_bn.bias"))  // both ends of ReLU6
    for (std::size_t i = 0; i < values.size(); ++i)
      if (golden_value(tensor, i) > 0.5) values[i] += 5.5;
  return values;
}

struct ZooSetting {
  std::string name;
  DType dtype;
};

class GoldenZoo : public ::testing::TestWithParam<ZooSetting> {
 protected:
  GoldenZoo()
      : golden_(golden_json("zoo-" + GetParam().name)),
        device_(open_device("cpu")),
        engine_(find_net(golden_["network"]), *device_,
                {.precision = GetParam().dtype, .seed = 1, .keep_gradients = true}),
        batch_(golden_["batch"]) {
    for (std::int64_t i = 0; i < batch_; ++i)
      labels_.push_back(golden_label(std::uint64_t(i), golden_["classes"]));
    images_ = cast(golden_fill(0, Shape(golden_["input"].get<std::vector<std::int64_t>>())));
  }

  // PyTorch's own fp32 error shows the effect of rounding on this network; ours rounds in another order.
  double tolerance(const std::string& what) const {
    if (GetParam().dtype == DType::f64) return 1e-10;
    return std::max(2e-5, 8 * golden_["fp32_error"][what].get<double>());
  }

  std::vector<std::byte> cast(const std::vector<double>& values) const {
    return dispatch_float(GetParam().dtype, [&]<class T>() {
      const std::vector<T> typed(values.begin(), values.end());
      const auto* bytes = reinterpret_cast<const std::byte*>(typed.data());
      return std::vector<std::byte>(bytes, bytes + typed.size() * sizeof(T));
    });
  }

  void set_parameters() {
    std::uint64_t tensor = 0;
    ASSERT_EQ(engine_.storage().names(Role::parameter).size(), golden_["shapes"].size());
    for (const auto& [name, dims] : golden_["shapes"].items()) {
      const Shape shape(dims.get<std::vector<std::int64_t>>());
      ASSERT_EQ(engine_.storage().type(name).shape, shape) << name;
      const auto bytes = cast(initial(++tensor, name, shape));
      engine_.storage().write(name, bytes.data(), bytes.size());
    }
  }

  std::vector<double> stored(const std::string& name) const {
    return dispatch_float(GetParam().dtype, [&]<class T>() {
      std::vector<T> host(std::size_t(engine_.storage().type(name).shape.numel()));
      engine_.storage().read(name, host.data(), host.size() * sizeof(T));
      return std::vector<double>(host.begin(), host.end());
    });
  }

  void expect_gradients(const Engine::Ready& ready) const {
    for (const auto& [name, digest] : golden_["gradients"].items())
      EXPECT_EQ(compare_digest(digest, ready.executor->read(gradient_of(ready.program, name)),
                               tolerance("gradients")),
                "")
          << "gradient of " << name;
    const double rounding = GetParam().dtype == DType::f64 ? 1e-12 : 1e-3;
    for (const std::string name : golden_["without_gradient"])
      for (double g : ready.executor->read(gradient_of(ready.program, name)))
        ASSERT_LE(std::abs(g), rounding * golden_["largest_gradient_rms"].get<double>()) << name;
  }

  Json golden_;
  std::unique_ptr<Device> device_;
  Engine engine_;
  std::int64_t batch_;
  std::vector<std::byte> images_;
  std::vector<std::int32_t> labels_;
};

TEST_P(GoldenZoo, OneStepAndThenEvaluation) {
  Engine::Ready& ready = engine_.ready(Mode::train, batch_);
  set_parameters();
  engine_.set_learning_rate(0);
  const double loss = engine_.train_step(ready, images_.data(), labels_.data(), 1);
  EXPECT_NEAR(loss, golden_["loss"].get<double>(), tolerance("loss") * golden_["loss"].get<double>());
  expect_gradients(ready);
  for (const auto& [name, digest] : golden_["statistics"].items())
    EXPECT_EQ(compare_digest(digest, stored(name), tolerance("statistics")), "") << name;
  Engine::Ready& eval = engine_.ready(Mode::eval, batch_);
  engine_.run_batch(eval, images_.data(), labels_.data());
  EXPECT_EQ(
      compare_digest(golden_["evaluated"], eval.executor->read(eval.program.logits), tolerance("evaluated")),
      "");
}

std::vector<ZooSetting> zoo_settings() {
  std::vector<ZooSetting> list;
  for (const char* name : {"alexnet", "overfeat", "vgg11", "vgg13", "vgg16-bn", "vgg19", "googlenet",
                           "googlenet-bn", "resnet18-cifar", "resnet34", "resnet50", "resnet50-v1.5",
                           "resnet101", "squeezenet-1.0", "squeezenet-1.1", "mobilenet-v1", "mobilenet-v2"})
    for (DType dtype : {DType::f64, DType::f32}) list.push_back({name, dtype});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenZoo, ::testing::ValuesIn(zoo_settings()), [](const auto& test) {
  std::string name = fmt::format("{}_{}", test.param.name, name_of(test.param.dtype));
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

}  // namespace
}  // namespace headroom::testing
