#include "train/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/testing/bad_input.h"
#include "plan/executor.h"

namespace headroom {
namespace {

using testing::expect_rejected;

Program program(const char* model, Mode mode, const Update& update = {}) {
  return make_program(find_net(model), {.mode = mode, .batch = 4, .update = update});
}

int count(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) { return n.op == op; }));
}

TEST(Program, AnEvaluationHasNeitherGradientsNorUpdates) {
  for (const char* model : {"mlp", "lenet5"}) {
    const Program p = program(model, Mode::eval, {.momentum = 0.9, .l2 = 0.1});
    for (const Node& node : p.graph.nodes()) EXPECT_EQ(node.phase, Phase::forward) << node.op;
    EXPECT_TRUE(p.graph.with_role(Role::state).empty());
    EXPECT_TRUE(p.graph.with_role(Role::scalar).empty());
    EXPECT_EQ(count(p.graph, "l2_penalty"), 0) << "the loss of an evaluation is that of the data";
    EXPECT_EQ(p.graph.outputs, (std::vector<ValueId>{p.loss, p.correct, p.logits}));
  }
}

// The convnet rule: weight gradients of every layer, input gradients of all but the first.
TEST(Program, NothingIsComputedForTheImages) {
  const Program p = program("lenet5", Mode::train);
  std::vector<std::string> with_input_gradient;
  for (const Node& node : p.graph.nodes())
    if (node.op == "conv2d_grad_input") with_input_gradient.push_back(node.layer);
  EXPECT_EQ(with_input_gradient, (std::vector<std::string>{"C5", "C3"}));
  EXPECT_EQ(count(p.graph, "conv2d_grad_weight"), 3);
  EXPECT_EQ(count(program("mlp", Mode::train).graph, "matmul"), 3);
}

TEST(Program, ActivationsAreFusedAndUpdatesAreOne) {
  const Program p = program("lenet5", Mode::train, {.momentum = 0.9});
  EXPECT_EQ(count(p.graph, "relu"), 0);
  EXPECT_EQ(count(p.graph, "sgd"), 1);
  const Node& sgd = p.graph.nodes().back();
  EXPECT_EQ(sgd.inputs.size(), 1u + 3 * 10);
  EXPECT_EQ(sgd.charges.size(), 5u) << "one for each layer with weights";
  EXPECT_EQ(p.graph.with_role(Role::state).size(), 10u);
}

TEST(Program, L2AddsAPenaltyOfTheWeightsAlone) {
  const Program with = program("mlp", Mode::train, {.l2 = 0.5});
  ASSERT_EQ(count(with.graph, "l2_penalty"), 1);
  for (const Node& node : with.graph.nodes()) {
    if (node.op == "l2_penalty") {
      EXPECT_EQ(node.attrs.real("lambda"), 0.5);
      ASSERT_EQ(node.inputs.size(), 3u);
      EXPECT_EQ(with.graph.node(with.graph.value(node.inputs[0]).producer).op, "cross_entropy");
      EXPECT_EQ(with.graph.value(node.inputs[1]).name, "hidden.weight");
      EXPECT_EQ(with.graph.value(node.inputs[2]).name, "out.weight");
    }
    if (node.op == "sgd") {
      for (std::size_t i = 0; i < 4; ++i) {
        const bool weight = with.graph.value(node.inputs[1 + 2 * i]).name.ends_with("weight");
        EXPECT_EQ(node.attrs.integers("penalized").at(i), weight ? 1 : 0);
      }
    }
  }
  EXPECT_EQ(with.graph.node(with.graph.value(with.loss).producer).op, "l2_penalty");
  EXPECT_EQ(count(program("mlp", Mode::train).graph, "l2_penalty"), 0);
}

TEST(Program, EveryOptimizerGetsItsStatesInOneNode) {
  struct Expected {
    const char* kind;
    std::vector<std::string> states;
    bool counts;
  };
  for (const Expected& e : std::vector<Expected>{{"sgd", {}, false},
                                                 {"adagrad", {"square_sum"}, false},
                                                 {"adadelta", {"square_average", "delta_average"}, false},
                                                 {"rmsprop", {"square_average"}, false},
                                                 {"adam", {"first_moment", "second_moment"}, true},
                                                 {"adamw", {"first_moment", "second_moment"}, true}}) {
    const Program p = program("mlp", Mode::train, {.kind = e.kind, .l2 = 0.1});
    EXPECT_EQ(count(p.graph, e.kind), 1) << e.kind;
    EXPECT_EQ(p.graph.with_role(Role::state).size(), 4 * e.states.size()) << e.kind;
    for (const std::string& state : e.states) {
      const ValueId id = p.graph.find("hidden.weight." + state);
      ASSERT_NE(id, kNone) << e.kind << " " << state;
      EXPECT_EQ(p.graph.value(id).role, Role::state);
      EXPECT_EQ(p.graph.value(id).type, p.graph.value(p.graph.find("hidden.weight")).type);
    }
    const ValueId step = p.graph.find(kStep);
    EXPECT_EQ(step != kNone, e.counts) << e.kind;
    if (e.counts) {
      EXPECT_EQ(p.graph.value(step).type, (TensorType{{1}, DType::f64}));
    }
    EXPECT_EQ(count(p.graph, "l2_penalty"), e.kind == std::string("adamw") ? 0 : 1)
        << "decoupled decay is no part of the loss";
  }
}

TEST(Program, SettingsReachTheOptimizerOrAreRejected) {
  const Program p = program("mlp", Mode::train, {.kind = "adam", .beta1 = 0.5, .epsilon = 1e-3});
  const Node& adam = p.graph.nodes().back();
  EXPECT_EQ(adam.attrs.real("beta1"), 0.5);
  EXPECT_EQ(adam.attrs.real("epsilon"), 1e-3);
  EXPECT_FALSE(adam.attrs.has("beta2")) << "the optimizer's default";
  expect_rejected([] { program("mlp", Mode::train, {.kind = "adma"}); }, {"'adma'"});
  expect_rejected([] { program("mlp", Mode::train, {.kind = "adam", .rho = 0.9}); }, {"'adam'", "'rho'"});
  expect_rejected([] { program("mlp", Mode::train, {.kind = "adam", .momentum = 0.9}); }, {"'momentum'"});
  expect_rejected([] { program("mlp", Mode::train, {.kind = "rmsprop", .momentum = 0.9, .nesterov = true}); },
                  {"'nesterov'"});
  expect_rejected([] { program("mlp", Mode::train, {.kind = "adam", .beta2 = 1.5}); }, {"beta2", "1.5"});
}

TEST(Program, KeptGradientsAreOutputsByName) {
  const Program p = make_program(find_net("mlp"), {.mode = Mode::train, .batch = 4, .keep_gradients = true});
  for (const char* name : {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}) {
    const ValueId g = gradient_of(p, name);
    EXPECT_EQ(p.graph.value(g).type, p.graph.value(p.graph.find(name)).type);
    EXPECT_NE(std::find(p.graph.outputs.begin(), p.graph.outputs.end(), g), p.graph.outputs.end());
  }
  EXPECT_THROW(gradient_of(p, "nothing"), Error);
}

TEST(Program, TheEndOfAClassifierIsOneNodeWhereAsked) {
  for (const char* model : {"mlp", "lenet5"}) {
    // On a CPU the pass does not apply to the head; called directly, it does the same as on a GPU.
    const Program without = make_program(
        find_net(model), {.mode = Mode::train, .batch = 4, .update = {.l2 = 0.1}, .keep_gradients = true});
    Program with = without;
    fuse_head(with.graph);
    EXPECT_EQ(with.graph.nodes().size() + 6, without.graph.nodes().size()) << model;
    EXPECT_EQ(count(without.graph, "classifier_head"), 0);
    EXPECT_EQ(count(with.graph, "classifier_head"), 1);
    EXPECT_EQ(count(with.graph, "cross_entropy"), 0);
    EXPECT_EQ(with.graph.outputs, without.graph.outputs);
    EXPECT_EQ(with.loss, without.loss);
    for (ValueId id : with.graph.with_role(Role::parameter))
      EXPECT_NE(with.graph.value(gradient_of(with, with.graph.value(id).name)).producer, kNone);
    const Target gpu(
        Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});
    auto heads = [&](Mode mode, DType precision) {
      const BuildRequest request{.mode = mode, .batch = 4, .precision = precision, .target = gpu};
      const Graph graph = make_program(find_net(model), request).graph;
      return count(graph, "classifier_head") + count(graph, "mlp_classifier");
    };
    EXPECT_EQ(heads(Mode::train, DType::f32), 1);
    EXPECT_EQ(heads(Mode::eval, DType::f32), 0);
    EXPECT_EQ(heads(Mode::train, DType::f16), 0);
  }
}

TEST(Program, AnMlpIsOneNodeWhereThatPaysAndNobodyForcesItsParts) {
  const Target gpu(Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});
  const auto whole = [&](std::int64_t batch, const Chooser& choose) {
    const BuildRequest request{.mode = Mode::train, .batch = batch, .target = gpu, .choose = choose};
    return count(make_program(find_net("mlp:hidden=64"), request).graph, "mlp_classifier");
  };
  EXPECT_EQ(whole(3200, first_that_accepts), 1);
  EXPECT_EQ(whole(60000, first_that_accepts), 0) << "too many rows";
  EXPECT_EQ(whole(3200, forced({{"linear", "cuda:tiles"}})), 0);
  EXPECT_EQ(whole(3200, forced({{"matmul", "own"}})), 0);
  EXPECT_EQ(whole(3200, forced({{"sgd", "cuda:one_pass"}})), 1);
  EXPECT_EQ(whole(60000, forced({{"mlp_classifier", "cuda:one_pass"}})), 1);
}

TEST(Program, AnMlpsUpdateJoinsItsNodeUnlessItKeepsStatesOrIsForced) {
  const Target gpu(Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});
  const auto updates = [&](const Update& update, const Chooser& choose) {
    BuildRequest request{.mode = Mode::train, .batch = 800, .target = gpu};
    request.choose = choose, request.update = update;
    return count(make_program(find_net("mlp:hidden=100"), request).graph, update.kind);
  };
  EXPECT_EQ(updates({.kind = "sgd"}, first_that_accepts), 0);
  EXPECT_EQ(updates({.kind = "sgd", .l2 = 0.1, .decay = true}, first_that_accepts), 0);
  EXPECT_EQ(updates({.kind = "sgd", .l2 = 0.1}, first_that_accepts), 0);
  EXPECT_EQ(updates({.kind = "sgd"}, forced({{"sgd", "cuda:one_pass"}})), 1);
  EXPECT_EQ(updates({.kind = "sgd", .momentum = 0.9}, first_that_accepts), 1);
  EXPECT_EQ(updates({.kind = "adam"}, first_that_accepts), 1);
}

// How much of a step is one node.
enum class Whole { none, head, step };

// One step in fp64 from the same weights.
std::map<std::string, std::vector<double>> step_values(Whole whole) {
  Net net("small", {6});
  net.linear("hidden", {.units = 9, .activation = "sigmoid"}).linear("out", {.units = 4});
  Program p = make_program(net, {.mode = Mode::train,
                                 .batch = 5,
                                 .precision = DType::f64,
                                 .update = {.l2 = 0.1},
                                 .keep_gradients = whole != Whole::step});
  const auto any = [](const Problem&) { return true; };
  if (whole != Whole::none) fuse_head(p.graph);
  if (whole == Whole::step) {
    fuse_small_classifier(p.graph, any), fuse_classifier_update(p.graph, any);
    EXPECT_EQ(count(p.graph, "mlp_classifier") - count(p.graph, "sgd"), 1);
  }
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  Arena arena(*device);
  storage.prepare(p.graph, 7);
  storage.set_scalar(kLearningRate, 0.1);
  Executor executor(make_plan(p.graph, {Mode::train, 5, DType::f64, device->capabilities()}), storage, arena);
  std::vector<double> images;
  for (int i = 0; i < 30; ++i) images.push_back(std::sin(i));
  const std::vector<std::int32_t> labels = {0, 3, 1, 2, 3};
  executor.bind(p.images, images.data());
  executor.bind(p.labels, labels.data());
  executor.run();
  std::map<std::string, std::vector<double>> values;
  values["loss"] = executor.read(p.loss);
  values["correct"] = executor.read(p.correct);
  for (const char* name : {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}) {
    if (whole != Whole::step) values[fmt::format("{}.gradient", name)] = executor.read(gradient_of(p, name));
    std::vector<double>& after = values[name];
    after.resize(static_cast<std::size_t>(storage.type(name).shape.numel()));
    storage.read(name, after.data(), after.size() * sizeof(double));
  }
  return values;
}

TEST(Program, AClassifiersEndInOneNodeComputesTheSame) {
  const auto want = step_values(Whole::none);
  for (const Whole whole : {Whole::head, Whole::step}) {
    const auto got = step_values(whole);
    for (const auto& [name, values] : got) {
      ASSERT_EQ(want.at(name).size(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(values[i], want.at(name)[i], 1e-13) << name << " " << i;
    }
  }
}

TEST(Program, ANetworkMustEndInClasses) {
  Net net("images", {1, 8, 8});
  net.conv2d("c", {.maps = 2, .kernel = 3});
  expect_rejected([&] { make_program(net, {.mode = Mode::eval, .batch = 1}); }, {"'images'", "2x6x6"});
  EXPECT_NO_THROW(make_program(net.flatten(), {.mode = Mode::eval, .batch = 1}));
}

TEST(Program, TheForwardPassAloneEndsAtTheScores) {
  const Program p = make_forward(find_net("lenet5"), 8, DType::f64);
  EXPECT_EQ(p.graph.outputs, std::vector<ValueId>{p.logits});
  EXPECT_EQ(p.graph.value(p.logits).type, (TensorType{{8, 10}, DType::f64}));
  EXPECT_EQ(p.loss, kNone);
  EXPECT_EQ(count(p.graph, "cross_entropy"), 0);
}

}  // namespace
}  // namespace headroom
