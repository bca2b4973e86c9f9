// Whole networks compared with PyTorch's numbers: logits, loss, every gradient, steps of each optimizer and
// its forms; in fp64 and fp32; small networks with the planned and with the plain kernels.
#include <gtest/gtest.h>

#include "base/json.h"
#include "golden/golden.h"
#include "train/engine.h"

namespace headroom::testing {
namespace {

// Rounding error of the precision, grown over a network of a few layers and ten steps. PyTorch's own fp32 run
// stays within 2e-6 of its fp64 run.
double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-10 : 1e-5; }

Net mixed_net() {
  Net net("mixed", {4, 13, 11});
  net.conv2d("conv1",
             {.maps = 8, .kernel = 3, .stride = 2, .pad = {1, 0, 2, 1}, .groups = 2, .activation = "tanh"});
  net.avg_pool("pool1", {.kernel = 3, .stride = 2, .pad = 1, .ceil_mode = true, .count_include_pad = false});
  net.conv2d("conv2", {.maps = 6, .kernel = 3, .dilation = 2, .pad = 2, .activation = "sigmoid"});
  net.max_pool("pool2", {.kernel = {3, 2}, .stride = {2, 1}, .pad = {1, 0, 1, 0}, .ceil_mode = true});
  return net.linear("out", {.units = 7});
}

// "ece408-2019sp" is a term of ece408.
Net net_named(const std::string& name) {
  if (name == "mixed") return mixed_net();
  return find_net(name.starts_with("ece408-") ? "ece408:term=" + name.substr(name.find('-') + 1) : name);
}

struct Setting {
  std::string network;
  DType dtype;
  bool plain;  // im2col and reference kernels instead of the planned ones
};

// A batch and initial weights from the shared formula.
class Golden {
 public:
  Golden(const Setting& s, const Update& update)
      : json_(golden_json(s.network)),
        dtype_(s.dtype),
        device_(open_device("cpu")),
        engine_(net_named(s.network), *device_, options(s, update)) {
    batch_ = json_["input"][0];
    images_ = cast(golden_batch(json_));
    if (json_.contains("classes"))
      for (std::int64_t i = 0; i < batch_; ++i)
        labels_.push_back(golden_label(std::uint64_t(i), json_["classes"]));
    ready_ = &engine_.ready(Mode::train, batch_);
    std::uint64_t tensor = 0;
    for (const auto& [name, shape] : json_["shapes"].items()) {
      const Shape expected(shape.get<std::vector<std::int64_t>>());
      EXPECT_EQ(engine_.storage().type(name).shape, expected) << name;
      const auto bytes = cast(golden_parameter(json_, ++tensor, expected));
      engine_.storage().write(name, bytes.data(), bytes.size());
    }
  }

  double step(std::int64_t number) {
    return engine_.train_step(*ready_, images_.data(), labels_.data(), number);
  }

  std::vector<double> logits() {
    Engine::Ready& eval = engine_.ready(Mode::eval, batch_);
    engine_.run_batch(eval, images_.data(), labels_.data());
    return eval.executor->read(eval.program.logits);
  }

  std::vector<double> gradient(const std::string& name) const {
    return ready_->executor->read(gradient_of(ready_->program, name));
  }

  std::vector<double> parameter(const std::string& name) const {
    return dispatch_float(dtype_, [&]<class T>() {
      std::vector<T> host(std::size_t(engine_.storage().type(name).shape.numel()));
      engine_.storage().read(name, host.data(), host.size() * sizeof(T));
      return std::vector<double>(host.begin(), host.end());
    });
  }

  const Json& json() const { return json_; }
  Engine& engine() { return engine_; }

 private:
  static EngineOptions options(const Setting& s, const Update& update) {
    EngineOptions o{.precision = s.dtype, .seed = 1, .update = update, .keep_gradients = true};
    if (s.plain)
      o.choose = forced({{"conv2d", "reference"},
                         {"conv2d_grad_input", "cpu:im2col_gemm"},
                         {"conv2d_grad_weight", "cpu:im2col_gemm"},
                         {"linear", "reference"},
                         {"max_pool", "reference"},
                         {"avg_pool", "reference"},
                         {"cross_entropy", "reference"}});
    return o;
  }

  std::vector<std::byte> cast(const std::vector<double>& values) const {
    return dispatch_float(dtype_, [&]<class T>() {
      const std::vector<T> typed(values.begin(), values.end());
      const auto* bytes = reinterpret_cast<const std::byte*>(typed.data());
      return std::vector<std::byte>(bytes, bytes + typed.size() * sizeof(T));
    });
  }

  Json json_;
  DType dtype_;
  std::unique_ptr<Device> device_;
  Engine engine_;
  Engine::Ready* ready_ = nullptr;
  std::int64_t batch_ = 0;
  std::vector<std::byte> images_;
  std::vector<std::int32_t> labels_;
};

class GoldenNets : public ::testing::TestWithParam<Setting> {};

void expect_logits(const Json& logits, const std::vector<double>& got, double rtol) {
  if (logits.is_object()) {  // large: a digest
    EXPECT_EQ(compare_digest(logits, got, rtol), "");
    return;
  }
  std::size_t i = 0;
  for (const Json& row : logits)
    for (const Json& want : row) EXPECT_NEAR(got[i++], want.get<double>(), rtol) << "logit " << i - 1;
  EXPECT_EQ(i, got.size());
}

TEST_P(GoldenNets, LogitsLossAndGradients) {
  Golden golden(GetParam(), {});
  const double rtol = tolerance(GetParam().dtype);
  expect_logits(golden.json()["logits"], golden.logits(), rtol);
  golden.engine().set_learning_rate(0.0);
  EXPECT_NEAR(golden.step(1), golden.json()["loss"].get<double>(), rtol);
  for (const auto& [name, digest] : golden.json()["gradients"].items())
    EXPECT_EQ(compare_digest(digest, golden.gradient(name), rtol), "") << "gradient of " << name;
}

void expect_steps(const Setting& setting, const Update& update, const Json& training) {
  const double rtol = tolerance(setting.dtype);
  // Our loss includes the penalty of its gradient; PyTorch's does not. adamw's decay is not a penalty.
  const double l2 = update.kind == "adamw" ? 0 : update.l2;
  Golden golden(setting, update);
  golden.engine().set_learning_rate(training["setting"]["lr"]);
  for (std::int64_t step = 0; step < std::ssize(training["losses"]); ++step) {
    double penalty = 0;
    for (const std::string& name : golden.engine().storage().names(Role::parameter))
      if (name.ends_with(".weight"))
        for (double w : golden.parameter(name)) penalty += l2 / 2 * w * w;
    EXPECT_NEAR(golden.step(step + 1) - penalty, training["losses"][std::size_t(step)].get<double>(), rtol)
        << "step " << step;
  }
  for (const auto& [name, digest] : training["parameters"].items())
    EXPECT_EQ(compare_digest(digest, golden.parameter(name), rtol), "") << name;
}

// The torch.optim options of a setting.
Update update_of(const std::string& kind, const Json& setting) {
  Update update{.kind = kind};
  update.momentum = setting.value("momentum", 0.0);
  update.nesterov = setting.value("nesterov", false);
  update.l2 = setting.value("weight_decay", 0.0);
  if (setting.contains("eps")) update.epsilon = setting["eps"].get<double>();
  if (setting.contains("alpha")) update.alpha = setting["alpha"].get<double>();
  if (setting.contains("betas"))
    update.beta1 = setting["betas"][0].get<double>(), update.beta2 = setting["betas"][1].get<double>();
  return update;
}

TEST_P(GoldenNets, StepsOfEachDescent) {
  const Json all = golden_json(GetParam().network)["training"];  // kept alive: items() refers to it
  ASSERT_FALSE(all.empty());
  for (const auto& [kind, training] : all.items()) {
    SCOPED_TRACE(kind);
    expect_steps(GetParam(), update_of("sgd", training["setting"]), training);
  }
}

// Names are those of the optimizers, with the special setting after an underscore.
TEST(GoldenOptimizers, TenStepsOfEach) {
  const Json golden = golden_json("optimizers");
  for (DType dtype : {DType::f64, DType::f32})
    for (const auto& [name, training] : golden["training"].items()) {
      SCOPED_TRACE(fmt::format("{} in {}", name, name_of(dtype)));
      const Update update = update_of(name.substr(0, name.find('_')), training["setting"]);
      expect_steps({golden["network"], dtype, false}, update, training);
    }
}

std::vector<Setting> settings() {
  std::vector<Setting> list;
  for (const char* network : {"mlp", "lenet5", "mixed"})
    for (DType dtype : {DType::f64, DType::f32})
      for (bool plain : {false, true}) list.push_back({network, dtype, plain});
  for (const char* network :
       {"lenet-caffe", "ece408-2018fa", "ece408-2019sp", "ece408-2020fa", "autoencoder"})
    for (DType dtype : {DType::f64, DType::f32}) list.push_back({network, dtype, false});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenNets, ::testing::ValuesIn(settings()), [](const auto& test) {
  std::string name = fmt::format("{}_{}_{}", test.param.network, name_of(test.param.dtype),
                                 test.param.plain ? "plain" : "planned");
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace headroom::testing
