#include "train/engine.h"
#include "train/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/testing/bad_input.h"
#include "data/safetensors.h"

namespace headroom {
namespace {

using testing::expect_rejected;
using testing::TemporaryFolder;

std::vector<double> weights(const Engine& engine, const std::string& name) {
  const TensorType& type = engine.storage().type(name);
  return dispatch_float(type.dtype, [&]<class T>() {
    std::vector<T> values(static_cast<std::size_t>(type.shape.numel()));
    engine.storage().read(name, values.data(), values.size() * sizeof(T));
    return std::vector<double>(values.begin(), values.end());
  });
}

struct Images {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  Images(const Net& net, std::int64_t batch, std::int32_t classes = 10) {
    const Philox random(3);
    const auto n = static_cast<std::uint64_t>(batch * Shape(net.input).numel());
    for (std::uint64_t i = 0; i < n; ++i) pixels.push_back(static_cast<float>(random.normal(i)));
    for (std::int64_t i = 0; i < batch; ++i) labels.push_back(static_cast<std::int32_t>(i % classes));
  }
};

class EngineTest : public ::testing::Test {
 protected:
  Engine make(const Net& net, EngineOptions options = {}) { return {net, *device_, std::move(options)}; }
  // Losses of a few steps on the same images.
  std::vector<double> losses(Engine& engine, std::int64_t batch, int steps, double rate = 0.05,
                             std::int32_t classes = 10) {
    const Images images(engine.net(), batch, classes);
    Engine::Ready& ready = engine.ready(Mode::train, batch);
    engine.set_learning_rate(rate);
    std::vector<double> list;
    for (int step = 1; step <= steps; ++step)
      list.push_back(engine.train_step(ready, images.pixels.data(), images.labels.data(), step));
    return list;
  }
  std::unique_ptr<Device> device_ = open_device("cpu", 2);
  TemporaryFolder folder_;
};

TEST_F(EngineTest, TheSameSeedGivesTheSameBits) {
  for (const char* model : {"lenet5", "mlp:hidden=100"}) {
    Engine a = make(find_net(model), {.seed = 5}), b = make(find_net(model), {.seed = 5});
    Engine other = make(find_net(model), {.seed = 6});
    EXPECT_EQ(losses(a, 50, 5), losses(b, 50, 5)) << model;
    EXPECT_NE(losses(a, 50, 1), losses(other, 50, 1));
    for (const std::string& name : a.storage().names(Role::parameter)) {
      if (name != a.storage().names(Role::parameter)[0]) continue;
      losses(b, 50, 1);
      EXPECT_EQ(weights(a, name), weights(b, name)) << name;
    }
  }
}

TEST_F(EngineTest, PlansShareWeightsAndOneArena) {
  Engine engine = make(find_net("lenet5"));
  std::size_t largest = 0, sum = 0;
  const void* place = engine.storage().data("C1.weight");
  for (const auto& [mode, batch] : {std::pair{Mode::train, 8}, {Mode::eval, 64}, {Mode::train, 5}}) {
    const Plan& plan = engine.ready(mode, batch).plan();
    largest = std::max(largest, plan.arena_bytes), sum += plan.arena_bytes;
    const Slot& filters = plan.steps[0].inputs[1];
    EXPECT_EQ(filters.where, Slot::Where::storage);
    EXPECT_EQ(plan.graph.value(filters.value).name, "C1.weight");
  }
  EXPECT_EQ(engine.storage().data("C1.weight"), place);
  EXPECT_EQ(engine.arena_bytes(), largest) << "the maximum of all plans";
  EXPECT_LT(engine.arena_bytes(), sum);
  EXPECT_EQ(&engine.ready(Mode::train, 8), &engine.ready(Mode::train, 8)) << "made once";
}

// A plan of another batch and mode sees the weights that one plan trained.
TEST_F(EngineTest, AnEvaluationSeesWhatTrainingChanged) {
  Engine engine = make(find_net("mlp:hidden=32"));
  const std::vector<double> seen = losses(engine, 20, 30, 0.1);
  const Images images(engine.net(), 20);
  Engine::Ready& eval = engine.ready(Mode::eval, 20);
  eval.executor->bind(eval.program.images, images.pixels.data());
  eval.executor->bind(eval.program.labels, images.labels.data());
  eval.executor->run();
  EXPECT_LT(eval.executor->read_scalar(eval.program.loss), seen.back());
  EXPECT_EQ(eval.executor->read_scalar(eval.program.correct), 20);
  EXPECT_EQ(eval.executor->read(eval.program.logits).size(), 200u);
}

TEST_F(EngineTest, TheLossIsThatOfTheDataPlusHalfTheSquares) {
  constexpr double kL2 = 0.3;
  const Net net = find_net("mlp:hidden=16,input=8,classes=3");
  Engine plain = make(net), penalized = make(net, {.update = {.l2 = kL2}});
  double squares = 0;
  for (const char* name : {"hidden.weight", "out.weight"})
    for (double w : weights(plain, name)) squares += w * w;
  const double data = losses(plain, 6, 1, 0, 3)[0];
  EXPECT_NEAR(losses(penalized, 6, 1, 0, 3)[0], data + kL2 / 2 * squares, 1e-6 * squares);
}

TEST_F(EngineTest, ALossThatIsNotFiniteNamesStepAndLayerAndChangesNothing) {
  for (const char* layer : {"C3", "F6"}) {
    Engine engine = make(find_net("lenet5"));
    const std::string name = std::string(layer) + ".weight";
    std::vector<double> values = weights(engine, name);
    std::vector<float> bad(values.begin(), values.end());
    bad[11] = std::numeric_limits<float>::infinity();
    engine.storage().write(name, bad.data(), bad.size() * sizeof(float));
    const auto before = weights(engine, "C1.weight");
    try {
      losses(engine, 16, 1);
      ADD_FAILURE() << "an infinite weight went unnoticed";
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(error.blame(), Blame::run);
      EXPECT_NE(what.find("step 1"), std::string::npos) << what;
      EXPECT_NE(what.find(fmt::format("'{}'", layer)), std::string::npos) << what;
      EXPECT_FALSE(error.hint().empty());
    }
    EXPECT_EQ(weights(engine, "C1.weight"), before);
  }
}

TEST_F(EngineTest, WeightsComeBackFromTheirFile) {
  const std::string path = folder_.path() / "w.safetensors";
  Engine trained = make(find_net("mlp:hidden=16"));
  losses(trained, 8, 3);
  save_weights(trained, path);
  Engine fresh = make(find_net("mlp:hidden=16"), {.seed = 9});
  load_weights(fresh, path);  // before any plan was made
  EXPECT_EQ(weights(fresh, "hidden.weight"), weights(trained, "hidden.weight"));
  EXPECT_EQ(losses(fresh, 8, 3), losses(trained, 8, 3)) << "and go on to the bit";
}

TEST_F(EngineTest, SinglePrecisionWeightsFitADoubleEngine) {
  const std::string path = folder_.path() / "w.safetensors";
  Engine single = make(find_net("lenet5"));
  save_weights(single, path);
  Engine wide = make(find_net("lenet5"), {.precision = DType::f64, .seed = 9});
  load_weights(wide, path);
  for (const std::string& name : single.storage().names(Role::parameter))
    EXPECT_EQ(weights(wide, name), weights(single, name)) << name;
}

TEST_F(EngineTest, AFileThatDoesNotFitIsRejectedByNameAndChangesNothing) {
  const std::string path = folder_.path() / "w.safetensors";
  Engine engine = make(find_net("mlp:hidden=16"));
  const auto hidden = weights(engine, "hidden.weight");
  auto expect_refused = [&](std::initializer_list<std::string_view> parts) {
    expect_rejected([&] { load_weights(engine, path); }, parts);
    EXPECT_EQ(weights(engine, "hidden.weight"), hidden);
  };
  Engine other = make(find_net("mlp:hidden=16"), {.seed = 9});
  save_weights(other, path);
  TensorFile file = read_safetensors(path);
  const auto find = [&](const char* name) {
    return std::find_if(file.tensors.begin(), file.tensors.end(),
                        [&](const auto& t) { return t.name == name; });
  };
  find("out.bias")->type.shape = Shape{2, 5};
  write_safetensors(path, file);
  expect_refused({path, "'out.bias'", "2x5", "10"});
  find("out.bias")->type = {{20}, DType::f16};
  write_safetensors(path, file);
  expect_refused({"'out.bias'", "20"});
  file.tensors.erase(find("out.bias"));
  write_safetensors(path, file);
  expect_refused({"'out.bias'", "mlp"});
}

TEST_F(EngineTest, OnlyWhatTheCpuComputesIn) {
  expect_rejected([&] { make(find_net("mlp"), {.precision = DType::f16}); }, {"fp16"});
  Capabilities without = cpu_capabilities(), with = without;
  without.bf16_products = false, with.bf16_products = true;
  expect_rejected([&] { require_cpu_precision(without, DType::bf16, false); }, {"bf16", "AMX-BF16"});
  expect_rejected([&] { require_cpu_precision(with, DType::f32, true); }, {"tf32"});
  require_cpu_precision(with, DType::bf16, false);
}

// A CPU stores fp32 and rounds in products; a GPU stores bf16.
TEST_F(EngineTest, Bf16OnACpuIsAPolicyOfProducts) {
  const EngineOptions options{.precision = DType::bf16};
  const Target cpu = target_of(cpu_capabilities(), options);
  EXPECT_TRUE(cpu.policy.bf16);
  EXPECT_EQ(build_request(options, cpu, Mode::infer, 1).precision, DType::f32);
  const Target gpu = target_of({.kind = DeviceKind::cuda, .name = "GPU", .compute_capability = 90}, options);
  EXPECT_FALSE(gpu.policy.bf16);
  EXPECT_EQ(build_request(options, gpu, Mode::infer, 1).precision, DType::bf16);
  EXPECT_FALSE(target_of(cpu_capabilities(), {}).policy.bf16);
}

// 17 TB of weights: the check comes before any allocation, for any plan.
TEST_F(EngineTest, AModelLargerThanTheMachineIsRefused) {
  expect_rejected([&] { make(find_net("mlp:hidden=16777216x262144")); }, {"'mlp'", "memory"});
}

// Sums of earlier layers, means and two activations: net.json has them, the zoo does not use them.
TEST_F(EngineTest, AResidualNetworkLearns) {
  const Net net = parse_net(R"({"name": "residual", "input": [2, 8, 8], "layers": [
    {"type": "conv2d", "name": "stem", "maps": 4, "kernel": 3, "pad": "same", "activation": "relu"},
    {"type": "conv2d", "name": "body", "maps": 4, "kernel": 3, "pad": 1, "activation": "tanh"},
    {"type": "add", "name": "sum", "from": ["stem", "body"]},
    {"type": "avg_pool", "name": "pool", "kernel": 2},
    {"type": "linear", "name": "out", "units": 5}]})",
                            "memory");
  Engine engine = make(net, {.update = {.momentum = 0.9, .nesterov = true}});
  const auto seen = losses(engine, 20, 60, 0.05, 5);
  EXPECT_NEAR(seen.front(), std::log(5.0), 1.0);
  EXPECT_LT(seen.back(), 0.1 * seen.front());
}

TEST_F(EngineTest, EveryOptimizerLearns) {
  for (const auto& [kind, rate] : std::vector<std::pair<std::string, double>>{
           {"adagrad", 0.05}, {"adadelta", 1.0}, {"rmsprop", 0.005}, {"adam", 0.005}, {"adamw", 0.005}}) {
    Engine engine = make(find_net("mlp:hidden=64,activation=relu,input=20"), {.update = {.kind = kind}});
    const auto seen = losses(engine, 30, 100, rate);
    EXPECT_LT(seen.back(), 0.7 * seen.front()) << kind;
  }
}

TEST_F(EngineTest, StepsAreCountedFromOne) {
  Engine engine = make(find_net("mlp:hidden=8,input=4"), {.update = {.kind = "adam"}});
  losses(engine, 4, 3);
  double step = 0;
  engine.storage().read(kStep, &step, sizeof step);
  EXPECT_EQ(step, 3);
  EXPECT_THROW(engine.set_step(0), Error) << "corrections would divide by zero";
  Engine plain = make(find_net("mlp:hidden=8,input=4"));
  EXPECT_NO_THROW(plain.set_step(0)) << "where nothing counts, any number will do";
}

TEST_F(EngineTest, TwoHiddenLayersLearn) {
  Engine engine = make(find_net("mlp:hidden=256x128,activation=relu,input=20"));
  const auto seen = losses(engine, 30, 60, 0.1);
  EXPECT_LT(seen.back(), 0.3 * seen.front());
  EXPECT_EQ(engine.parameter_count(), 20 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
}

TEST_F(EngineTest, LeNetWithMeansAndTanhLearns) {
  Engine engine = make(find_net("lenet5:pool=avg,activation=tanh"));
  const auto seen = losses(engine, 20, 200, 0.2);
  EXPECT_LT(seen.back(), 0.5 * seen.front());
  EXPECT_EQ(engine.parameter_count(), 61'706);
}

}  // namespace
}  // namespace headroom
