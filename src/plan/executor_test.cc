#include "plan/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plan/testing/small_net.h"

namespace headroom {
namespace {

using testing::cpu_binding;
using testing::small_net;
using testing::SmallNet;

// The small network on the CPU, bound to fixed images.
struct Fixture {
  explicit Fixture(std::int64_t batch) : net(small_net(batch)) {
    storage.prepare(net.graph, 5);
    storage.set_scalar("rate", 0.1);
    executor =
        std::make_unique<Executor>(make_plan(net.graph, cpu_binding(Mode::train, batch)), storage, arena);
    images.resize(static_cast<std::size_t>(batch) * 6);
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = std::sin(static_cast<float>(i));
    for (std::int64_t i = 0; i < batch; ++i) labels.push_back(static_cast<std::int32_t>(i % 3));
  }
  void bind() const {
    executor->bind(net.images, images.data());
    executor->bind(net.labels, labels.data());
  }
  std::vector<float> stored(const std::string& name) const {
    std::vector<float> values(static_cast<std::size_t>(storage.type(name).shape.numel()));
    storage.read(name, values.data(), values.size() * sizeof(float));
    return values;
  }
  // The loss of the stored weights, by plain loops in fp64.
  double loss_by_hand() const {
    const auto w1 = stored("fc1.weight"), b1 = stored("fc1.bias"), w2 = stored("fc2.weight");
    double loss = 0;
    for (std::size_t n = 0; n < labels.size(); ++n) {
      double hidden[5], scores[3], sum = 0;
      for (std::size_t h = 0; h < 5; ++h) {
        hidden[h] = b1[h];
        for (std::size_t k = 0; k < 6; ++k) hidden[h] += double{images[n * 6 + k]} * w1[h * 6 + k];
        hidden[h] = std::tanh(hidden[h]);
      }
      for (std::size_t c = 0; c < 3; ++c) {
        scores[c] = 0;
        for (std::size_t h = 0; h < 5; ++h) scores[c] += hidden[h] * w2[c * 5 + h];
        sum += std::exp(scores[c]);
      }
      loss +=
          (std::log(sum) - scores[static_cast<std::size_t>(labels[n])]) / static_cast<double>(labels.size());
    }
    return loss;
  }

  SmallNet net;
  std::unique_ptr<Device> device = open_device("cpu", 2);
  Storage storage{*device};
  Arena arena{*device};
  std::unique_ptr<Executor> executor;
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

TEST(Executor, ComputesTheLossAndLowersIt) {
  Fixture f(12);
  f.bind();
  const double expected = f.loss_by_hand();
  f.executor->run_phase(Phase::forward);
  EXPECT_NEAR(f.executor->read_scalar(f.net.loss), expected, 1e-6);
  EXPECT_EQ(f.executor->read(f.net.scores).size(), 36u);
  EXPECT_EQ(f.executor->read(f.net.loss).at(0), f.executor->read_scalar(f.net.loss));
  f.executor->run();
  EXPECT_LT(f.loss_by_hand(), expected) << "the update moved the weights downhill";
}

TEST(Executor, TheForwardPhaseChangesNoWeight) {
  Fixture f(4);
  f.bind();
  const auto before = f.stored("fc1.weight");
  f.executor->run_phase(Phase::forward);
  f.executor->run_phase(Phase::backward);
  EXPECT_EQ(f.stored("fc1.weight"), before);
  f.executor->run_phase(Phase::update);
  EXPECT_NE(f.stored("fc1.weight"), before);
}

TEST(Executor, RebindingReadsTheOtherImages) {
  Fixture f(4);
  f.bind();
  f.executor->run_phase(Phase::forward);
  const double first = f.executor->read_scalar(f.net.loss);
  const std::vector<float> others(24, 1.0f);
  f.executor->bind(f.net.images, others.data());
  f.executor->run_phase(Phase::forward);
  EXPECT_NE(f.executor->read_scalar(f.net.loss), first);
  f.bind();
  f.executor->run_phase(Phase::forward);
  EXPECT_EQ(f.executor->read_scalar(f.net.loss), first);
}

TEST(Executor, AnInputThatWasNotBoundIsNamed) {
  Fixture f(4);
  f.executor->bind(f.net.images, f.images.data());
  try {
    f.executor->run();
    FAIL() << "ran without labels";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'labels'"), std::string::npos) << error.what();
  }
  f.bind();
  EXPECT_NO_THROW(f.executor->run());
}

// A bad weight shows first in its own layer's output; the layer before stays finite.
TEST(Executor, FindsTheFirstLayerThatIsNotFinite) {
  for (const char* layer : {"fc1", "fc2"}) {
    Fixture f(4);
    f.bind();
    EXPECT_EQ(f.executor->first_nonfinite_layer(), "");
    const std::string name = std::string(layer) + ".weight";
    auto weights = f.stored(name);
    weights[7] = std::numeric_limits<float>::quiet_NaN();
    f.storage.write(name, weights.data(), weights.size() * sizeof(float));
    EXPECT_EQ(f.executor->first_nonfinite_layer(), layer);
  }
}

TEST(Executor, TellsARecorderOfEveryStepInOrder) {
  struct Log final : Recorder {
    void begin(std::size_t step, Stream&) override { open = step; }
    void end(std::size_t step, Stream&) override {
      EXPECT_EQ(step, open);
      seen.push_back(step);
    }
    std::size_t open = 0;
    std::vector<std::size_t> seen;
  } log;
  Fixture f(4);
  f.bind();
  Recorder* const recorders[] = {&log};
  f.executor->run(recorders);
  ASSERT_EQ(log.seen.size(), f.executor->plan().steps.size());
  EXPECT_TRUE(std::is_sorted(log.seen.begin(), log.seen.end()));
}

TEST(Executor, AViewIsReadWhereItsOwnerLies) {
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{2, 3}, DType::f64}, .role = Role::input});
  const ValueId y = g.add_node("relu", {x}, {}, "act")[0];
  const ValueId flat = g.add_node("reshape", {y}, {{"shape", std::vector<std::int64_t>{6}}}, "flat")[0];
  g.outputs = {flat};
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  Arena arena(*device);
  Executor executor(make_plan(g, cpu_binding(Mode::eval, 2, DType::f64)), storage, arena);
  const double values[] = {1, -2, 3, -4, 5, -6};
  executor.bind(x, values);
  executor.run();
  EXPECT_EQ(executor.read(flat), (std::vector<double>{1, 0, 3, 0, 5, 0}));
}

TEST(Executor, ReadingWhatIsNoLongerThereFails) {
  Fixture f(4);
  EXPECT_THROW(f.executor->read_scalar(f.net.loss), Error) << "before any run";
  f.bind();
  f.executor->run();
  EXPECT_THROW(f.executor->read_scalar(f.net.labels), Error) << "not computed by the plan";
  f.arena.reserve(f.arena.bytes() * 1000 + (1 << 26));
  EXPECT_THROW(f.executor->read_scalar(f.net.loss), Error) << "the arena has moved";
  f.executor->run();
  EXPECT_NO_THROW(f.executor->read_scalar(f.net.loss));
}

TEST(Executor, RefusesAPlanThatWasMadeToBeRead) {
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  Arena arena(*device);
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{2, 3, 8, 8}, DType::f32}, .role = Role::input});
  const Attrs same{{"shapes", std::vector<std::int64_t>{4, 2, 3, 8, 8}}, {"dtypes", std::string("fp32")}};
  g.outputs = {g.add_node("gap", {x}, same, "unknown")[0]};
  const Plan plan = make_plan(g, cpu_binding(Mode::eval, 2), even_without_kernel(first_that_accepts));
  try {
    Executor executor(plan, storage, arena);
    ADD_FAILURE() << "a step without a kernel was bound";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'unknown'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("'gap'"), std::string::npos) << error.what();
  }
}

// Two trainings of one batch move running statistics by momentum each: 0, then 0.1, then 0.19 of the mean.
TEST(Executor, RunningStatisticsOutliveAStep) {
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  Arena arena(*device);
  Graph g;
  auto add = [&](const char* name, Shape shape, Role role, double first) {
    return g.add_value({.name = name,
                        .type = {shape, DType::f32},
                        .role = role,
                        .init = {Initializer::Kind::constant, first}});
  };
  const ValueId x = add("x", {2, 1}, Role::input, 0), scale = add("scale", {1}, Role::parameter, 1);
  const ValueId mean = add("mean", {1}, Role::state, 0), var = add("var", {1}, Role::state, 1);
  g.outputs = {g.add_node("batch_norm", {x, scale, scale, mean, var}, {}, "norm")[0]};
  storage.prepare(g, 1);
  Executor executor(make_plan(g, cpu_binding(Mode::train, 2)), storage, arena);
  const float values[] = {9, 11};
  executor.bind(x, values);
  for (float want : {1.0f, 1.9f}) {
    executor.run();
    float got = 0;
    storage.read("mean", &got, sizeof got);
    EXPECT_FLOAT_EQ(got, want);
  }
}

// Everything is the caller's: no arena, and outputs that lie where inputs do, also after binding others.
TEST(Executor, UpdatesBoundInputsInPlace) {
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  Arena arena(*device);
  Graph g;
  auto add = [&](const char* name, DType dtype) {
    return g.add_value({.name = name, .type = {{2}, dtype}, .role = Role::input});
  };
  const ValueId rate = g.add_value({.name = "rate", .type = {{1}, DType::f64}, .role = Role::input});
  const ValueId p = add("p", DType::f32), gradient = add("g", DType::f32);
  g.outputs = g.add_node("sgd", {rate, p, gradient}, {}, "update");
  Executor executor(make_plan(g, cpu_binding(Mode::train, 2)), storage, arena);
  const double half = 0.5;
  const float slope[] = {2, 4};
  float first[] = {1, 1}, second[] = {5, 5};
  executor.bind(rate, &half);
  executor.bind(gradient, slope);
  for (float* weights : {first, second, first}) {
    executor.bind(p, weights);
    executor.run();
  }
  EXPECT_EQ(std::vector<float>(first, first + 2), (std::vector<float>{-1, -3}));
  EXPECT_EQ(std::vector<float>(second, second + 2), (std::vector<float>{4, 3}));
}

}  // namespace
}  // namespace headroom
