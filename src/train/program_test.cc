#include "train/program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using testing::expect_rejected;

Program program(const char* model, Mode mode, const Update& update = {}) {
  return make_program(find_net(model), mode, 4, {.update = update});
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
  const Program p = make_program(find_net("mlp"), Mode::train, 4, {.keep_gradients = true});
  for (const char* name : {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}) {
    const ValueId g = gradient_of(p, name);
    EXPECT_EQ(p.graph.value(g).type, p.graph.value(p.graph.find(name)).type);
    EXPECT_NE(std::find(p.graph.outputs.begin(), p.graph.outputs.end(), g), p.graph.outputs.end());
  }
  EXPECT_THROW(gradient_of(p, "nothing"), Error);
}

TEST(Program, ANetworkMustEndInClasses) {
  Net net("images", {1, 8, 8});
  net.conv2d("c", {.maps = 2, .kernel = 3});
  expect_rejected([&] { make_program(net, Mode::eval, 1, {}); }, {"'images'", "2x6x6"});
  EXPECT_NO_THROW(make_program(net.flatten(), Mode::eval, 1, {}));
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
